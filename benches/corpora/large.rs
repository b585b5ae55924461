//! Documents of large real-world shapes: map features, a description of an HTTP interface, a package's manifest.

use serde_json::{Map, Value, json};

use super::Random;

fn position(random: &mut Random) -> Value {
    json!([random.below(360_000) as f64 / 1000.0 - 180.0, random.below(180_000) as f64 / 1000.0 - 90.0])
}

pub(crate) fn geo(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    // A polygon takes about 600 bytes; a uniform set has as many in each document.
    let (mut features, mut size) = (Vec::new(), 60);
    while if mixed { size < bytes } else { features.len() < bytes / 600 } {
        let geometry = match if mixed { random.below(3) } else { 2 } {
            0 => json!({"type": "Point", "coordinates": position(random)}),
            1 => {
                let points: Vec<Value> = (0..6).map(|_| position(random)).collect();
                json!({"type": "LineString", "coordinates": points})
            }
            _ => {
                let points: Vec<Value> = (0..20).map(|_| position(random)).collect();
                json!({"type": "Polygon", "coordinates": [points]})
            }
        };
        let properties = json!({"name": random.words(12), "population": random.digits(6), "capital": false});
        let mut feature =
            json!({"type": "Feature", "id": random.hex(8), "properties": properties, "geometry": geometry});
        if mixed && random.below(3) == 0 {
            feature.as_object_mut().unwrap().remove("id");
            feature["properties"] = Value::Null;
        }
        size += feature.to_string().len();
        features.push(feature);
    }
    json!({"type": "FeatureCollection", "features": features})
}

pub(crate) fn api(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    let mut paths = Map::new();
    let mut size = 100;
    while size < bytes {
        let mut path = Map::new();
        for method in ["get", "put", "post", "delete"] {
            if mixed && random.below(2) == 0 {
                continue;
            }
            let mut operation = json!({
                "operationId": format!("op_{}", random.hex(6)),
                "summary": random.words(30),
                "tags": ["core", "users"],
                "parameters": [
                    {"name": "id", "in": "path", "required": true, "schema": {"type": "string", "format": "uuid"}},
                    {"name": "limit", "in": "query", "schema": {"type": "integer"}}
                ],
                "responses": {
                    "200": {"description": "fine", "content": {"application/json": {"schema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}}}},
                    "default": {"description": random.words(20)}
                }
            });
            if mixed && random.below(2) == 0 {
                operation.as_object_mut().unwrap().remove("tags");
                operation["deprecated"] = true.into();
            }
            path.insert(method.to_owned(), operation);
        }
        size += Value::Object(path.clone()).to_string().len();
        paths.insert(format!("/v1/things/{}", random.hex(6)), path.into());
    }
    json!({"openapi": "3.1.0", "info": {"title": "Things", "version": "1.0.0", "x-owner": "core"}, "servers": [{"url": "https://api.example.com/v1"}], "paths": paths})
}

pub(crate) fn manifest(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    let mut versions = |count: usize| -> Value {
        let version = |random: &mut Random| format!("^{}.{}.0", random.below(10), random.digits(2));
        Value::Object(
            (0..count).map(|_| (format!("package-{}", random.hex(5)), version(random).into())).collect(),
        )
    };
    let half = bytes / 60;
    let (dependencies, dev_dependencies) = (versions(half), versions(half));
    let mut manifest = json!({
        "name": "@acme/gate-tools",
        "version": "1.4.2",
        "description": random.words(40),
        "keywords": ["stream", "gate"],
        "homepage": "https://example.com/gate",
        "license": "Apache-2.0",
        "author": {"name": "Someone", "email": "someone@example.com", "url": "https://example.com"},
        "files": ["dist", "README.md"],
        "main": "dist/index.js",
        "scripts": {"build": "make", "test": "make test", "lint": "make lint"},
        "engines": {"node": ">=20"},
        "repository": {"type": "git", "url": "https://example.com/gate.git"},
        "dependencies": dependencies,
        "devDependencies": dev_dependencies
    });
    if mixed && random.below(2) == 0 {
        manifest["author"] = json!("Someone <someone@example.com>");
        manifest["bin"] = json!({"gate": "bin/gate.js"});
    }
    manifest
}
