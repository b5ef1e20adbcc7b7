//! The page: files that are part of this program, and load nothing else.

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Its path in a URL.
    pub(super) path: &'static str,
    /// Its media type.
    pub(super) media_type: &'static str,
    pub(super) text: &'static str,
}

/// All files.
pub(super) const FILES: [File; 4] = [
    File {
        path: "/",
        media_type: "text/html; charset=utf-8",
        text: include_str!("index.html"),
    },
    File {
        path: "/page.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("page.css"),
    },
    File {
        path: "/page.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("page.js"),
    },
    File {
        path: "/icon.svg",
        media_type: "image/svg+xml",
        text: include_str!("icon.svg"),
    },
];
