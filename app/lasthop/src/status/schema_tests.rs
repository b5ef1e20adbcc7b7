//! The published schema of a status: `docs/status-schema.json`.

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use runtime::Status;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Statuses that daemons have given.
const SEEN: [&str; 2] = [include_str!("gateway.json"), include_str!("mobile.json")];

/// Returns the schema of the types.
fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Status>();
    let mut schema = schema.to_value();
    schema["title"] = "Status of a daemon of lasthop".into();
    schema["description"] =
        "The reply of `lasthop status --json`. A reader ignores fields that it does not \
                             know: later versions may have more."
            .into();
    make_plain(&mut schema);
    schema
}

/// Takes the links out of all descriptions, which lead to other items of the code.
fn make_plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "description" => *value = plain(text).into(),
                    _ => make_plain(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn plain(text: &str) -> String {
    let mut parts = text.split("](");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    plain
        .replace("[`", "`")
        .replace("`]", "`")
        .replace('\n', " ")
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/status-schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("SCHEMA").is_some_and(|value| value == "write") {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == text,
        "docs/status-schema.json is stale; write it anew by `SCHEMA=write cargo test -p lasthop schema`"
    );
}

/// The schema, ready for checks.
struct Checker {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Checker {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("status.json", schema()).unwrap();
        let index = compiler.compile("status.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    /// Returns the reasons why this is no status.
    fn check(&self, status: &Value) -> Result<(), String> {
        let checked = self.schemas.validate(status, self.index);
        checked.map_err(|error| format!("{error:#}"))
    }
}

#[test]
fn statuses_are_as_the_schema_says() {
    let checker = Checker::new();
    for text in SEEN {
        assert_eq!(checker.check(&serde_json::from_str(text).unwrap()), Ok(()));
    }
}

#[test]
fn the_schema_refuses_what_is_no_status() {
    let checker = Checker::new();
    let status: Value = serde_json::from_str(SEEN[0]).unwrap();
    let wrong = |pointer: &str, value: Value| {
        let mut status = status.clone();
        *status.pointer_mut(pointer).unwrap() = value;
        checker.check(&status).is_err()
    };
    assert!(wrong("/host/role", json!("server")));
    assert!(wrong("/host/peers/0/hop/round_trip", json!("45.006")));
    assert!(wrong(
        "/host/peers/0/recent/to_peer_bits_per_s",
        json!("5 Mbit/s")
    ));
    assert!(wrong("/host/peers/1/limit/by", json!("weather")));
    let mut status = status.clone();
    let hop = status.pointer_mut("/host/peers/0/hop").unwrap();
    assert!(hop.as_object_mut().unwrap().remove("flows").is_some());
    assert!(checker.check(&status).is_err());
}
