//! Envelopes of the formats other than Olympus.

use serde_json::{Value, json};

use super::Random;

/// Adds members to the object at `pointer` until `whole` has about `bytes` bytes.
fn fill(whole: &mut Value, pointer: &str, random: &mut Random, bytes: usize, mixed: bool) {
    for round in 0.. {
        if whole.to_string().len() + 80 >= bytes {
            return;
        }
        let name = format!("item_{}", if mixed { random.below(10_000) } else { round + 1000 });
        let value = match if mixed { random.below(3) } else { round % 3 } {
            0 => json!(random.words(60)),
            1 => json!({"note": random.words(30), "line": random.digits(3), "ok": true}),
            _ => json!([random.below(10), random.hex(16), null, 1.5]),
        };
        if let Some(Value::Object(members)) = whole.pointer_mut(pointer) {
            members.insert(name, value);
        }
    }
}

fn timestamp(random: &mut Random) -> String {
    format!("2026-05-{:02}T12:{:02}:{:02}.000Z", 1 + random.below(28), random.below(60), random.below(60))
}

pub(crate) fn alfred(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    const TYPES: &[&str] = &["TASK_REQUEST", "TASK_RESPONSE", "EVENT", "HEARTBEAT"];
    let mut envelope = json!({
        "envelope": {
            "metadata": {"id": random.uuid(), "version": "2.1.0", "timestamp": timestamp(random), "correlation_id": random.uuid()},
            "routing": {
                "source": {"agent_id": "alfred-bot", "service_id": "alfred-bot-service"},
                "destination": {"agent_id": "social-intelligence-agent"},
                "reply_to": "a2a.tasks.completed"
            },
            "security": {"auth_token": random.hex(64)}
        },
        "message": {
            "type": if mixed { *random.pick(TYPES) } else { "TASK_REQUEST" },
            "intent": "TREND_ANALYSIS",
            "payload": {"query": random.words(20)}
        }
    });
    if mixed && random.below(2) == 0 {
        envelope["envelope"]["metadata"]["trace_id"] = json!(random.hex(16));
        envelope["envelope"]["security"]["tenant_id"] = json!("default");
    }
    fill(&mut envelope, "/message/payload", random, bytes, mixed);
    envelope
}

pub(crate) fn agh(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    let mut envelope = json!({
        "protocol": "agh-network/v0",
        "id": format!("msg_{}", random.hex(26)),
        "workspace_id": "ws_alpha",
        "kind": "say",
        "channel": "builders",
        "surface": "direct",
        "direct_id": format!("direct_{}", random.hex(32)),
        "from": format!("ops-coordinator.session-{}", random.digits(2)),
        "to": format!("patch-worker.session-{}", random.digits(2)),
        "ts": 1_776_366_000 + random.below(1000),
        "expires_at": 1_776_367_000,
        "body": {"text": random.words(20), "intent": "request"},
        "proof": null
    });
    if mixed && random.below(2) == 0 {
        envelope["work_id"] = json!(format!("work_{}", random.hex(12)));
        envelope["trace_id"] = json!(random.hex(16));
    }
    if mixed && random.below(2) == 0 {
        envelope["surface"] = json!("thread");
        envelope["direct_id"] = Value::Null;
        envelope["thread_id"] = json!("thread_migration");
    }
    fill(&mut envelope, "/body", random, bytes, mixed);
    envelope
}

pub(crate) fn humaninloop_input(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    let mut envelope = json!({
        "context": {"feature_id": "005-user-auth", "workflow": "specify", "iteration": 1 + random.below(9)},
        "paths": {
            "feature_root": "specs/005-user-auth/",
            "spec": "specs/005-user-auth/spec.md",
            "constitution": ".humaninloop/memory/constitution.md"
        },
        "task": {"action": if mixed { *random.pick(&["validate", "create", "update"]) } else { "validate" }, "params": {}},
        "prior_context": [random.words(20), random.words(30)]
    });
    if mixed && random.below(2) == 0 {
        envelope["paths"]["sources"] = json!(["src/a.md", "src/b.md"]);
    }
    if mixed && random.below(4) == 0 {
        envelope["context"]["feature_id"] = Value::Null;
        envelope.as_object_mut().unwrap().remove("prior_context");
    }
    fill(&mut envelope, "/task/params", random, bytes, mixed);
    envelope
}

pub(crate) fn humaninloop_output(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    let mut envelope = json!({
        "success": true,
        "summary": random.words(40),
        "artifacts": [],
        "notes": [random.words(20)],
        "recommendation": if mixed { *random.pick(&["proceed", "retry", "escalate"]) } else { "proceed" }
    });
    if mixed && random.below(2) == 0 {
        envelope.as_object_mut().unwrap().remove("notes");
    }
    while envelope.to_string().len() + 100 < bytes {
        let operation = if mixed { *random.pick(&["create", "update"]) } else { "update" };
        let path = format!("specs/005-user-auth/file_{}.md", random.digits(2));
        let artifact = json!({"path": path, "operation": operation, "content": random.words(150)});
        if let Some(artifacts) = envelope["artifacts"].as_array_mut() {
            artifacts.push(artifact);
        }
    }
    envelope
}

pub(crate) fn bluelabel(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    let mut envelope = json!({
        "type": if mixed { *random.pick(&["task_result", "error", "needs_input"]) } else { "task_result" },
        "protocol_version": "1.0",
        "sender_id": "CA",
        "recipient_id": "ARCH",
        "timestamp": timestamp(random),
        "task_id": format!("TASK-{}", random.digits(3)),
        "retry_count": 0,
        "payload": {"status": "success", "result": {"output": random.words(30), "artifacts": []}}
    });
    if mixed && random.below(2) == 0 {
        envelope["trace_id"] = json!(random.hex(8));
        envelope["context"] = json!({"environment": "staging"});
    }
    fill(&mut envelope, "/payload", random, bytes, mixed);
    envelope
}
