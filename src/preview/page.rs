//! The page: three files in the binary.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its path.
    pub path: &'static str,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The files.
pub const FILES: [File; 3] = [
    File { path: "/", content_type: "text/html; charset=utf-8", text: include_str!("page/index.html") },
    File { path: "/app.js", content_type: "text/javascript; charset=utf-8", text: include_str!("page/app.js") },
    File { path: "/style.css", content_type: "text/css; charset=utf-8", text: include_str!("page/style.css") },
];
