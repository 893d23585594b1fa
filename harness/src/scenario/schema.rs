//! The JSON Schema of a scenario, made from the very structs the file is read into, so that editors complete it.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;

use super::file::ScenarioFile;

/// The JSON Schema (draft 2020-12) of a scenario file. What needs more than shapes to judge, such as placeholders and
/// the JSONPath behind an intent, is left to [`parse`](super::parse).
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ScenarioFile>();
    schema.insert("title".to_owned(), "killpoint.scenario/1".into());
    no_null(&mut schema);
    schema.to_value()
}

/// Takes away the defaults of `null`, which TOML cannot write.
fn no_null(schema: &mut Schema) {
    if schema.get("default").is_some_and(serde_json::Value::is_null) {
        schema.remove("default");
    }
    transform_subschemas(&mut no_null, schema);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_schema_is_the_one_of_the_structs() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../reports/schema/killpoint.scenario-1.json");
        let mut fresh = serde_json::to_string_pretty(&json_schema()).expect("a schema is JSON");
        fresh.push('\n');
        if std::env::var_os("KILLPOINT_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(path, &fresh).expect("the schema's folder is writable");
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            stored == fresh,
            "reports/schema/killpoint.scenario-1.json is out of date; regenerate it with `KILLPOINT_BLESS=1 cargo test -p killpoint scenario::schema`"
        );
    }
}
