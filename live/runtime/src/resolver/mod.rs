//! The resolver of a mobile host while the hop is up.
//!
//! Names are asked across the hop where that is wanted: always with `fallback = "block"`, and otherwise while flows
//! cross it. A process of its own ([`ResolverHelper`]) sets the system's resolver; a thread waits for it.

mod helper;

use std::io;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use edges::resolver::Way;
use hosts::{EventKind, Resolvers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use helper::{Report, ResolverCharge, ResolverHelper, serve_resolver};

use crate::lock;

/// Where programs of a mobile host ask for names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NamesStatus {
    /// Servers that are asked across the hop, as lasthop has set them.
    pub servers: Vec<IpAddr>,
    /// The way by which they are set.
    pub way: Option<Way>,
    /// Servers that are asked beside the hop.
    pub beside: Vec<IpAddr>,
    /// Reason why no server is set, although some are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// News that may change the resolver.
#[derive(Debug, Clone, PartialEq, Eq)]
enum News {
    /// The gateway offers these.
    Offered(Resolvers),
    /// New flows go around the hop.
    Around,
    /// New flows cross the hop.
    Across,
}

/// What is known, and what follows from it.
#[derive(Debug, Default)]
struct Knowledge {
    offered: Option<Resolvers>,
    is_around: bool,
}

impl Knowledge {
    fn take(&mut self, news: News) {
        match news {
            News::Offered(resolvers) => self.offered = Some(resolvers),
            News::Around => self.is_around = true,
            News::Across => self.is_around = false,
        }
    }

    /// Returns the resolvers that the system should have.
    fn wanted(&self) -> Option<&Resolvers> {
        let offered = self.offered.as_ref().filter(|_| !self.is_around);
        offered.filter(|resolvers| !resolvers.servers().is_empty())
    }
}

/// The resolver of a mobile host.
pub struct Names {
    news: Option<Sender<News>>,
    status: Arc<Mutex<NamesStatus>>,
    thread: Option<JoinHandle<()>>,
}

impl Names {
    /// Returns one that stays as it is.
    pub fn unchanged(status: NamesStatus) -> Self {
        Self {
            news: None,
            status: Arc::new(Mutex::new(status)),
            thread: None,
        }
    }

    /// Starts the thread that sets the resolver by `helper`, at once if these are `given`, and otherwise as the gateway
    /// offers them. It ends with this.
    ///
    /// # Errors
    /// If no thread is available.
    pub fn start(helper: ResolverHelper, given: Option<Resolvers>) -> io::Result<Self> {
        let (news, heard) = channel();
        let status = Arc::new(Mutex::new(NamesStatus::default()));
        let setter = Setter {
            helper,
            status: Arc::clone(&status),
            set: None,
        };
        if let Some(given) = given {
            // The receiver is at hand.
            let _ = news.send(News::Offered(given));
        }
        let work = move || setter.run(&heard);
        let thread = thread::Builder::new().name("names".into()).spawn(work)?;
        Ok(Self {
            news: Some(news),
            status,
            thread: Some(thread),
        })
    }

    /// Takes what the gateway offers.
    pub(crate) fn offered(&self, resolvers: Resolvers) {
        self.tell(News::Offered(resolvers));
    }

    /// Follows new flows around the hop and across it.
    pub(crate) fn follow(&self, event: &EventKind) {
        if matches!(event, EventKind::DetourBegan { .. }) {
            self.tell(News::Around);
        } else if matches!(event, EventKind::DetourEnded { .. }) {
            self.tell(News::Across);
        }
    }

    fn tell(&self, news: News) {
        if let Some(thread) = &self.news {
            // Without its thread nothing is set, which that thread has reported.
            let _ = thread.send(news);
        }
    }

    /// Returns where programs ask.
    pub(crate) fn status(&self) -> NamesStatus {
        lock(&self.status).clone()
    }
}

impl Drop for Names {
    /// Waits until the resolver is taken back.
    fn drop(&mut self) {
        drop(self.news.take());
        if let Some(thread) = self.thread.take() {
            // It ends in any way.
            let _ = thread.join();
        }
    }
}

/// The thread's part.
struct Setter {
    helper: ResolverHelper,
    status: Arc<Mutex<NamesStatus>>,
    /// What the system has now.
    set: Option<Resolvers>,
}

impl Setter {
    fn run(mut self, heard: &Receiver<News>) {
        let mut knowledge = Knowledge::default();
        while let Ok(news) = heard.recv() {
            knowledge.take(news);
            // Only the latest state counts.
            for news in heard.try_iter() {
                knowledge.take(news);
            }
            self.follow(&knowledge);
        }
        if let Err(error) = self.helper.end() {
            tracing::error!("the resolver is not taken back: {error}; run `lasthop clean`");
        }
    }

    fn follow(&mut self, knowledge: &Knowledge) {
        let wanted = knowledge.wanted();
        if wanted.is_some() && wanted == self.set.as_ref() {
            return;
        }
        let result = match wanted {
            Some(resolvers) => self.helper.set(resolvers),
            None => self.helper.take_back(),
        };
        let had = self.set.take();
        let (report, error) = match result {
            Ok(report) => (report, None),
            Err(error) => (Report::default(), Some(error.to_string())),
        };
        let status = NamesStatus {
            servers: wanted.map_or(Vec::new(), |wanted| wanted.servers().to_vec()),
            way: report.way,
            beside: report.beside,
            error,
        };
        if report.way.is_some() {
            self.set = wanted.cloned();
        }
        status.log(had.is_some(), knowledge.is_around);
        *lock(&self.status) = status;
    }
}

impl NamesStatus {
    /// Writes it to the log, after servers had been set or not.
    fn log(&self, had: bool, is_around: bool) {
        let servers = list(&self.servers);
        match (self.way, &self.error) {
            (Some(way), _) => {
                tracing::info!("names are asked at {servers}, across the hop (by {way})");
            }
            (None, Some(error)) => tracing::warn!(
                "names are not asked at {servers}, across the hop: {error}; set the resolver of this host yourself, or \
                 set `dns = \"none\"`"
            ),
            (None, None) if had => tracing::info!("names are asked as without the hop"),
            (None, None) => {}
        }
        // Around the hop, the network's own server is the one that answers.
        if !is_around {
            self.log_beside(
                "let the gateway offer a resolver (`dns` in its configuration), or set `dns` here",
            );
        }
    }

    /// Writes to the log which servers are asked beside the hop, if any are, with this remedy.
    pub fn log_beside(&self, remedy: &str) {
        if !self.beside.is_empty() {
            tracing::warn!(
                "names are asked at {}, beside the hop: the network there can read and change the answers, and repairs \
                 no losses; {remedy}",
                list(&self.beside)
            );
        }
    }
}

fn list(addresses: &[IpAddr]) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_across_the_hop_while_flows_cross_it() {
        let offer = |server: &str| Resolvers::new(vec![server.parse().unwrap()], Vec::new());
        let (one, other) = (offer("10.73.0.1").unwrap(), offer("10.74.0.1").unwrap());
        let mut knowledge = Knowledge::default();
        let mut after = |news| {
            knowledge.take(news);
            knowledge.wanted().cloned()
        };
        assert_eq!(after(News::Around), None);
        assert_eq!(after(News::Offered(one.clone())), None);
        assert_eq!(after(News::Across), Some(one.clone()));
        assert_eq!(after(News::Offered(other.clone())), Some(other.clone()));
        assert_eq!(after(News::Around), None);
        assert_eq!(after(News::Across), Some(other));
        assert_eq!(after(News::Offered(Resolvers::default())), None);
        assert_eq!(after(News::Offered(one.clone())), Some(one));
    }
}
