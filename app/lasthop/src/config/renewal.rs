//! Changes of the files of hosts, which a configuration takes without a look at all the others.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use super::entry::{Kind, Texts};
use super::gateway::{GatewayConfig, Mobile};
use super::known::KnownMobiles;
use super::site::{FiledGateway, SiteGateway};
use super::{ReadFiles, Source};
use crate::failure::Failure;
use crate::state::FormerKeys;

impl GatewayConfig {
    /// Becomes the configuration in `source` with these changes of the files of its hosts. Files that are named, and
    /// have the same text as before, are no changes.
    ///
    /// # Errors
    /// Those of [`Self::load`]. Nothing is changed then.
    pub(crate) fn renew(
        &mut self,
        source: &Source,
        changes: &BTreeMap<Kind, Texts>,
    ) -> Result<(), Failure> {
        if *source.text() == *self.main && self.take(source, changes).is_some() {
            return Ok(());
        }
        let mut folders = self.texts();
        for (kind, changed) in changes {
            folders.entry(*kind).or_default().change(changed);
        }
        let files = ReadFiles {
            folders,
            ..ReadFiles::default()
        };
        let (path, main) = (source.path().into(), source.text().into());
        *self = Self::load(&Source::new(path, main, Some(files)))?;
        Ok(())
    }

    /// Takes changes of the files of mobile hosts. Returns `None`, and changes nothing, if there are others, or if they
    /// are not valid: then all files decide, and tell why.
    fn take(&mut self, source: &Source, changes: &BTreeMap<Kind, Texts>) -> Option<()> {
        let gateways = changes.get(&Kind::Gateway);
        if gateways.is_some_and(|changed| self.news(Kind::Gateway, changed).next().is_some()) {
            return None;
        }
        if let Some(changed) = changes.get(&Kind::Mobile) {
            let (mut former, mut mobiles) = (Vec::new(), Vec::new());
            for name in self.news(Kind::Mobile, changed) {
                former.push(name.file_stem()?.to_str()?.to_owned());
                if let Some(text) = changed.hosts.get(name) {
                    mobiles.push(self.read_mobile(source, name, text)?);
                }
            }
            self.exchange(&former, mobiles, source)?;
        }
        for (kind, changed) in changes {
            let former = FormerKeys::new(changed.former.clone());
            self.former.insert(*kind, former);
        }
        Some(())
    }

    /// Returns the mobile host in a file with this text, if it is valid apart from what it has in common with others.
    fn read_mobile(&self, source: &Source, name: &Path, text: &str) -> Option<Mobile> {
        let path = source.file(self.folder(Kind::Mobile)?).join(name);
        let mobile = Mobile::load(Source::new(path, text.into(), None)).ok()?;
        let file = mobile.source(source);
        self.check_mobile(&mobile, file).ok()?;
        self.check_home(&mobile, file).ok()?;
        self.is_unlike_gateways(&mobile).then_some(mobile)
    }

    /// Returns the names of those files that are not here as they are in `changed`.
    fn news<'a>(&'a self, kind: Kind, changed: &'a Texts) -> impl Iterator<Item = &'a Path> {
        let is_new = move |name: &Path, text: Option<&str>| self.text_in(kind, name) != text;
        let hosts = changed.hosts.iter();
        let hosts = hosts.map(|(name, text)| (name.as_path(), Some(text.as_str())));
        let gone = changed.gone.iter().map(|name| (name.as_path(), None));
        let all = hosts.chain(gone);
        all.filter_map(move |(name, text)| is_new(name, text).then_some(name))
    }

    /// Returns the names of the files of its hosts.
    pub(crate) fn files(&self, kind: Kind) -> impl Iterator<Item = &OsStr> {
        let entries = self.entries().filter(move |entry| entry.kind == kind);
        entries.filter_map(|entry| entry.file?.path().file_name())
    }

    /// Returns the text of a file of a host.
    pub(crate) fn text_in(&self, kind: Kind, name: &Path) -> Option<&str> {
        let stem = name.file_stem()?.to_str()?;
        let file = match kind {
            Kind::Mobile => self.filed_peers.get(stem)?.file()?,
            Kind::Gateway => {
                let mut gateways = self.filed_gateways.iter();
                gateways.find(|gateway| gateway.name() == stem)?.file()
            }
        };
        Some(file.text())
    }

    /// Returns true if a mobile host has no name or key of a gateway of the site.
    fn is_unlike_gateways(&self, mobile: &Mobile) -> bool {
        let name = mobile.name.get_ref().0.as_str();
        let is_like = |other: &str, keys: &[_]| {
            let mut own = mobile.keys();
            other == name || own.any(|key| keys.contains(&Some(key)))
        };
        let is_like_joined =
            |gateway: &SiteGateway| is_like(gateway.name(), &[Some(gateway.key())]);
        let is_like_filed = |gateway: &FiledGateway| {
            let invitation = gateway.invitation().map(|open| open.public_key.0);
            is_like(gateway.name(), &[gateway.key(), invitation])
        };
        let own = self.site_name.as_ref();
        own.is_none_or(|own| own.get_ref().0 != name)
            && !self.gateways.iter().any(is_like_joined)
            && !self.filed_gateways.iter().any(is_like_filed)
    }

    /// Replaces mobile hosts of these names that have files of their own by others. Returns `None`, and changes
    /// nothing, if these have something in common with each other, or with those that stay.
    fn exchange(&mut self, former: &[String], mobiles: Vec<Mobile>, source: &Source) -> Option<()> {
        for name in former {
            if let Some(mobile) = self.filed_peers.get(name) {
                self.known.remove(mobile);
            }
        }
        let mut added = mobiles.iter().map(|mobile| self.known.add(mobile, source));
        if added.any(|added| added.is_err()) {
            self.known = KnownMobiles::default();
            for mobile in self.peers.iter().chain(self.filed_peers.values()) {
                // They fit, as they did before.
                let _ = self.known.add(mobile, source);
            }
            return None;
        }
        for name in former {
            self.filed_peers.remove(name);
        }
        let named = |mobile: Mobile| (mobile.name.get_ref().0.clone(), mobile);
        self.filed_peers.extend(mobiles.into_iter().map(named));
        Some(())
    }
}
