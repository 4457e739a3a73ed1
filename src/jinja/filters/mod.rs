//! Jinja2's 54 filters as functions, by name.
//!
//! Each does what the function of the same name in Jinja2's `filters.py` does, with its parameters, results and errors.
//! Airflow's own filters are not here.

mod attrs;
mod batch;
mod bind;
mod number;
mod pprint;
mod select;
mod sequence;
mod sort;
mod sorting;
mod text;
mod urlize;
mod web;
mod wrap;

pub use bind::Sig;
pub(super) use bind::only_subject;
pub use sequence::is_mapping;

use super::FilterFn;

/// Every filter of Jinja2 3.1.6.
pub fn builtin() -> &'static [(&'static str, FilterFn)] {
    &[
        ("abs", number::abs),
        ("attr", sequence::attr),
        ("batch", batch::batch),
        ("capitalize", text::capitalize),
        ("center", text::center),
        ("count", text::length),
        ("d", sequence::default),
        ("default", sequence::default),
        ("dictsort", sorting::dictsort),
        ("e", text::escape_filter),
        ("escape", text::escape_filter),
        ("filesizeformat", number::filesizeformat),
        ("first", sequence::first),
        ("float", number::float),
        ("forceescape", text::forceescape),
        ("format", text::format),
        ("groupby", sorting::groupby),
        ("indent", text::indent),
        ("int", number::int),
        ("items", sequence::items),
        ("join", sequence::join),
        ("last", sequence::last),
        ("length", text::length),
        ("list", sequence::list),
        ("lower", text::lower),
        ("map", select::map),
        ("max", sequence::max),
        ("min", sequence::min),
        ("pprint", pprint::pprint),
        ("random", sequence::random),
        ("reject", select::reject),
        ("rejectattr", select::rejectattr),
        ("replace", text::replace),
        ("reverse", sequence::reverse),
        ("round", number::round),
        ("safe", text::safe),
        ("select", select::select),
        ("selectattr", select::selectattr),
        ("slice", batch::slice),
        ("sort", sorting::sort),
        ("string", text::string),
        ("striptags", text::striptags),
        ("sum", sequence::sum),
        ("title", text::title),
        ("tojson", web::tojson),
        ("trim", text::trim),
        ("truncate", text::truncate),
        ("unique", sorting::unique),
        ("upper", text::upper),
        ("urlencode", web::urlencode),
        ("urlize", urlize::urlize),
        ("wordcount", text::wordcount),
        ("wordwrap", text::wordwrap),
        ("xmlattr", web::xmlattr),
    ]
}
