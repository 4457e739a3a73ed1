//! The page: plain HTML, CSS and JavaScript modules, in the binary.

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

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const ICON: &str = "image/svg+xml";

macro_rules! file {
    ($path:literal, $type:expr, $file:literal) => {
        File { path: $path, content_type: $type, text: include_str!(concat!("page/", $file)) }
    };
}

/// The files.
pub const FILES: &[File] = &[
    file!("/", HTML, "index.html"),
    file!("/api.js", SCRIPT, "api.js"),
    file!("/app.js", SCRIPT, "app.js"),
    file!("/code.js", SCRIPT, "code.js"),
    file!("/colours.css", STYLE, "colours.css"),
    file!("/controls.css", STYLE, "controls.css"),
    file!("/dialogs.css", STYLE, "dialogs.css"),
    file!("/diff.js", SCRIPT, "diff.js"),
    file!("/dom.js", SCRIPT, "dom.js"),
    file!("/head.js", SCRIPT, "head.js"),
    file!("/help.js", SCRIPT, "help.js"),
    file!("/icon.svg", ICON, "icon.svg"),
    file!("/layout.js", SCRIPT, "layout.js"),
    file!("/model.js", SCRIPT, "model.js"),
    file!("/picker.js", SCRIPT, "picker.js"),
    file!("/problem.js", SCRIPT, "problem.js"),
    file!("/runs.js", SCRIPT, "runs.js"),
    file!("/state.js", SCRIPT, "state.js"),
    file!("/style.css", STYLE, "style.css"),
    file!("/texts.css", STYLE, "texts.css"),
    file!("/theme.js", SCRIPT, "theme.js"),
    file!("/view-assets.js", SCRIPT, "view-assets.js"),
    file!("/view-context.js", SCRIPT, "view-context.js"),
    file!("/view-diff.js", SCRIPT, "view-diff.js"),
    file!("/view-graph.js", SCRIPT, "view-graph.js"),
    file!("/view-text.js", SCRIPT, "view-text.js"),
    file!("/view-waiting.js", SCRIPT, "view-waiting.js"),
    file!("/view-whatif.js", SCRIPT, "view-whatif.js"),
    file!("/view-why.js", SCRIPT, "view-why.js"),
    file!("/views.css", STYLE, "views.css"),
    file!("/virtual.js", SCRIPT, "virtual.js"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/preview/page");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .map(|name| if name == "index.html" { "/".to_owned() } else { format!("/{name}") })
            .collect();
        names.sort();
        let mut served: Vec<&str> = FILES.iter().map(|file| file.path).collect();
        served.sort_unstable();
        assert_eq!(served, names);
    }

    #[test]
    fn what_the_files_name_is_served() {
        for file in FILES {
            for line in file.text.lines().filter(|line| line.contains("from \"./")) {
                let name = line.rsplit("from \"./").next().and_then(|rest| rest.split('"').next()).unwrap_or_default();
                assert!(FILES.iter().any(|known| known.path == format!("/{name}")), "{}: {line}", file.path);
            }
        }
    }
}
