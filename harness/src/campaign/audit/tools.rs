//! What the schemas of the MCP tools say: a tool that takes no key cannot be called with one, however careful its caller is.

use crate::model::audit::{GapKind, Write};
use crate::model::promise::Endpoint;
use crate::model::tool::Tool;

/// Notes for each write that is a call of a tool whether the tool's schema has an argument for a key.
pub(super) fn note(writes: &mut [Write], tools: &[Tool]) {
    for write in writes.iter_mut().filter(|write| write.method == Endpoint::MCP) {
        let called = |tool: &&Tool| write.path.trim_start_matches('/') == tool.name;
        let Some(tool) = tools.iter().find(called) else { continue };
        write.tool_takes_key = Some(tool.key.is_some());
        let schema = match &tool.key {
            Some(key) if tool.key_is_required => format!("its schema requires `{key}`"),
            Some(key) => format!("its schema has `{key}`, which the calls leave out"),
            None => "its schema has no argument for a key".to_owned(),
        };
        for gap in write.gaps.iter_mut().filter(|gap| gap.kind == GapKind::NoKey) {
            gap.what = format!("{}; {schema}", gap.what);
        }
    }
}
