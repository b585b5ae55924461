//! The peers of this node (agh): those that messages may be addressed to, everywhere or in one workspace and channel.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::de::DeValue;

use super::read::{Place, Setting, quote};
use super::registry::{in_place_or_file, kind_of};

/// Where one peer is: `None` means anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Home {
    workspace_id: Option<String>,
    channel: Option<String>,
}

/// Local peers by their id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    homes: BTreeMap<String, Vec<Home>>,
    /// The file that they came from, as it was named.
    file: Option<String>,
}

impl Peers {
    /// Whether nothing is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.homes.is_empty()
    }

    /// Whether the peer is at home in a channel of a workspace; allocates nothing.
    #[must_use]
    pub fn contains(&self, workspace_id: &str, channel: &str, peer_id: &str) -> bool {
        self.homes.get(peer_id).is_some_and(|homes| homes.iter().any(|home| home.is(workspace_id, channel)))
    }

    /// The peers that are at home in a channel of a workspace.
    pub fn of<'p>(&'p self, workspace_id: &'p str, channel: &'p str) -> impl Iterator<Item = &'p str> {
        let at_home = move |homes: &[Home]| homes.iter().any(|home| home.is(workspace_id, channel));
        self.homes.iter().filter(move |(_, homes)| at_home(homes)).map(|(peer, _)| peer.as_str())
    }
}

/// One entry: the peer, and the workspace and channel that it is bound to.
type Listed<'p> = (&'p str, Option<&'p str>, Option<&'p str>);

impl Peers {
    /// All peers with their workspace and channel, where they are bound to one.
    pub fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        self.homes.iter().flat_map(|(peer, homes)| {
            homes.iter().map(|home| (peer.as_str(), home.workspace_id.as_deref(), home.channel.as_deref()))
        })
    }
}

impl Home {
    fn is(&self, workspace_id: &str, channel: &str) -> bool {
        self.workspace_id.as_deref().is_none_or(|own| own == workspace_id)
            && self.channel.as_deref().is_none_or(|own| own == channel)
    }
}

impl Setting for Peers {
    const KIND: &'static str = "a list of peer ids or of tables with `peer_id`, `workspace_id` and `channel`, or the \
                                name of a TOML or JSON file";

    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        let (mut value, file) = in_place_or_file(value, place)?;
        // A TOML file is a table; the list stands in it under the key's own name.
        if let Some(list) = value.as_object_mut().and_then(|table| table.remove(place.name())) {
            value = list;
        }
        let mut peers = Self { homes: BTreeMap::new(), file };
        let Some(list) = value.as_array() else {
            return if value.as_object().is_some_and(serde_json::Map::is_empty) {
                Some(peers)
            } else {
                place.fail("", kind_of(&value), Self::KIND)
            };
        };
        for (index, item) in list.iter().enumerate() {
            let (peer, home) = read_peer(item, &format!("[{index}]"), place)?;
            peers.homes.entry(peer).or_default().push(home);
        }
        Some(peers)
    }

    fn show(&self) -> String {
        if let Some(file) = &self.file {
            return quote(file);
        }
        let shown = |(peer, home): (&String, &Home)| match home {
            Home { workspace_id: None, channel: None } => quote(peer),
            Home { workspace_id, channel } => {
                let mut parts = vec![format!("peer_id = {}", quote(peer))];
                parts.extend(workspace_id.iter().map(|text| format!("workspace_id = {}", quote(text))));
                parts.extend(channel.iter().map(|text| format!("channel = {}", quote(text))));
                format!("{{ {} }}", parts.join(", "))
            }
        };
        let homes = self.homes.iter().flat_map(|(peer, homes)| homes.iter().map(move |home| (peer, home)));
        format!("[{}]", homes.map(shown).collect::<Vec<_>>().join(", "))
    }
}

fn read_peer(item: &Value, within: &str, place: &mut Place<'_>) -> Option<(String, Home)> {
    const MEMBERS: &str = "a peer id, or a table with the texts `peer_id`, `workspace_id` and `channel`";
    let table = match item {
        Value::String(peer) => return Some((peer.clone(), Home::default())),
        Value::Object(table) => table,
        other => return place.fail(within, kind_of(other), MEMBERS),
    };
    let known = ["peer_id", "workspace_id", "channel"];
    let wrong = table.iter().find(|(name, value)| !known.contains(&name.as_str()) || !value.is_string());
    if let Some((name, _)) = wrong {
        return place.fail(&format!("{within}.{name}"), &format!("`{name}`"), MEMBERS);
    }
    let text = |name: &str| table.get(name).and_then(Value::as_str).map(str::to_owned);
    match text("peer_id") {
        Some(peer) => Some((peer, Home { workspace_id: text("workspace_id"), channel: text("channel") })),
        None => place.fail(within, "no `peer_id`", MEMBERS),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn peers(list: &str) -> Result<super::Peers, String> {
        let text = format!("[format.agh]\nlocal_peers = {list}\n");
        let config = Config::parse("peers.toml", &text, &|_| None).map_err(|error| error.to_string())?;
        let again = Config::parse("peers.toml", &config.to_toml(), &|_| None).unwrap();
        assert_eq!(again.format.agh.local_peers, config.format.agh.local_peers, "it reads what it writes");
        Ok(config.format.agh.local_peers)
    }

    #[test]
    fn a_peer_is_at_home_everywhere_or_somewhere() {
        let peers = peers(r#"["a", { peer_id = "b", workspace_id = "w", channel = "c" }, { peer_id = "b", workspace_id = "v" }]"#)
            .unwrap();
        assert!(!peers.is_empty());
        assert!(peers.contains("x", "y", "a"));
        assert!(peers.contains("w", "c", "b"));
        assert!(!peers.contains("w", "d", "b"));
        assert!(peers.contains("v", "d", "b"));
        assert!(!peers.contains("w", "c", "d"));
        assert_eq!(peers.of("w", "c").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(peers.of("u", "c").collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn other_forms_are_refused_by_name() {
        assert!(peers("[]").unwrap().is_empty());
        for wrong in [
            r#"[{ workspace_id = "w" }]"#,
            r#"[{ peer_id = "b", room = "r" }]"#,
            "[1]",
            r#"{ peer_id = "b" }"#,
        ] {
            let error = peers(wrong).unwrap_err();
            assert!(error.contains("format.agh.local_peers"), "{error}");
        }
    }
}
