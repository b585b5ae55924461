//! From settings to what verifies tokens and signatures.

use serde_json::json;

use crate::config::{self, Profile};
use crate::credentials::jwt::{Jwks, JwksError, TokenRules, Verifier};
use crate::credentials::keys::Encoding;
use crate::credentials::mac::{AgentKeys, AlfredKeys};
use crate::formats::compiled::{FormatError, ring};

/// What verifies tokens; nothing where no public keys are configured.
pub(super) fn verifier(knobs: &config::Alfred, profile: Profile) -> Result<Option<Verifier>, FormatError> {
    if knobs.jwks.keys.is_empty() {
        return Ok(None);
    }
    let keys: Vec<_> = knobs
        .jwks
        .keys
        .iter()
        .map(|key| json!({"kty": "RSA", "kid": key.kid, "n": key.n, "e": key.e}))
        .collect();
    let jwks = Jwks::from_value(&json!({ "keys": keys })).map_err(|error| unfit(knobs, error))?;
    let given = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Into::into);
    let rules = TokenRules {
        issuer: given(&knobs.issuer),
        audience: given(&knobs.audience),
        leeway_s: knobs.leeway_s,
        lifetime_s_max: knobs.max_lifetime_s,
        // That tokens say when they were issued, and live for an hour at most, is for production.
        iat_required: profile == Profile::Strict,
    };
    Ok(Some(Verifier::new(jwks, rules)))
}

/// A key set that cannot be used: which of its keys, and what is wrong with it.
fn unfit(knobs: &config::Alfred, error: JwksError) -> FormatError {
    let key = "format.alfred.jwks".to_owned();
    match error {
        JwksError::Key { number, member, found, allowed } => {
            let kid = knobs.jwks.keys.get(number).map_or("?", |key| key.kid.as_str());
            let member = member.replace('/', ".");
            FormatError::Key {
                key: format!("{key}.keys[kid = {kid:?}]{member}"),
                found,
                allowed: allowed.to_owned(),
            }
        }
        JwksError::TooMany(count) => FormatError::Key {
            key,
            found: format!("{count} keys"),
            allowed: format!("up to {} keys", Jwks::KEYS_MAX),
        },
        other => FormatError::Key { key, found: other.to_string(), allowed: "RSA keys for RS256".to_owned() },
    }
}

/// What verifies signatures: the master keys, and keys of single agents, for all tenants or for one.
pub(super) fn mac_keys(knobs: &config::Alfred) -> Result<AlfredKeys, FormatError> {
    let masters = ring("format.alfred.mac_master_key_hex", &knobs.mac_master_key_hex, Encoding::Hex)?;
    let mut keys = AlfredKeys { masters, ..AlfredKeys::default() };
    for (agent, entry) in knobs.registry.iter() {
        if entry.mac_keys.is_empty() && entry.tenant_mac_keys.is_empty() {
            continue;
        }
        let key = format!("format.alfred.registry.\"{agent}\".mac_key");
        let mut own =
            AgentKeys { others: ring(&key, &entry.mac_keys, Encoding::Text)?, ..AgentKeys::default() };
        for (tenant, secrets) in &entry.tenant_mac_keys {
            let key = format!("format.alfred.registry.\"{agent}\".tenant_mac_keys.\"{tenant}\"");
            own.tenants.insert(tenant.as_str().into(), ring(&key, secrets, Encoding::Text)?);
        }
        keys.agents.insert(agent.into(), own);
    }
    Ok(keys)
}
