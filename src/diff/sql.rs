//! SQL in one layout, so that only what a database would read differently differs.

use sqlparser::dialect::{
    AnsiDialect, BigQueryDialect, ClickHouseDialect, DatabricksDialect, Dialect, DuckDbDialect, GenericDialect,
    HiveDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect, RedshiftSqlDialect, SQLiteDialect,
    SnowflakeDialect, SparkSqlDialect, TeradataDialect,
};
use sqlparser::keywords::{ALL_KEYWORDS, Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use super::side::Operator;

/// Words by which operators and connection types tell their dialect; the first that is found counts.
const DIALECTS: [(&str, &str); 24] = [
    ("bigquery", "bigquery"),
    ("gcpbigquery", "bigquery"),
    ("google_cloud_platform", "bigquery"),
    ("snowflake", "snowflake"),
    ("redshift", "redshift"),
    ("postgres", "postgresql"),
    ("mysql", "mysql"),
    ("mariadb", "mysql"),
    ("mssql", "mssql"),
    ("oracle", "oracle"),
    ("sqlite", "sqlite"),
    ("clickhouse", "clickhouse"),
    ("duckdb", "duckdb"),
    ("databricks", "databricks"),
    ("spark", "spark"),
    ("hive", "hive"),
    ("beeline", "hive"),
    ("teradata", "teradata"),
    ("vertica", "postgresql"),
    ("greenplum", "postgresql"),
    ("pgvector", "postgresql"),
    ("emr", "spark"),
    ("athena", "hive"),
    ("exasol", "ansi"),
];

/// Fields that hold SQL whatever the operator.
const FIELDS: [&str; 6] = ["sql", "hql", "query", "sqls", "queries", "statement"];

/// True when a field holds SQL: by its name, or by the ending of its file.
pub fn is_sql(field: &str, file: Option<&camino::Utf8Path>) -> bool {
    FIELDS.contains(&field) || file.is_some_and(|file| matches!(file.extension(), Some("sql" | "hql" | "ddl")))
}

/// The dialect of an operator with its connection.
pub fn dialect(operator: &Operator) -> &'static str {
    let class = operator.class.to_lowercase();
    let conn_type = operator.conn_type.to_lowercase();
    let found = |text: &str| DIALECTS.iter().find(|(word, _)| text.contains(word)).map(|(_, name)| *name);
    found(&conn_type).or_else(|| found(&class)).unwrap_or("generic")
}

fn of_name(name: &str) -> Box<dyn Dialect> {
    match name {
        "ansi" => Box::new(AnsiDialect {}),
        "bigquery" => Box::new(BigQueryDialect {}),
        "snowflake" => Box::new(SnowflakeDialect {}),
        "redshift" => Box::new(RedshiftSqlDialect {}),
        "postgresql" => Box::new(PostgreSqlDialect {}),
        "mysql" => Box::new(MySqlDialect {}),
        "mssql" => Box::new(MsSqlDialect {}),
        "oracle" => Box::new(OracleDialect {}),
        "sqlite" => Box::new(SQLiteDialect {}),
        "clickhouse" => Box::new(ClickHouseDialect {}),
        "duckdb" => Box::new(DuckDbDialect {}),
        "databricks" => Box::new(DatabricksDialect {}),
        "spark" => Box::new(SparkSqlDialect {}),
        "hive" => Box::new(HiveDialect {}),
        "teradata" => Box::new(TeradataDialect {}),
        _ => Box::new(GenericDialect {}),
    }
}

/// Words that begin a line of their own.
const CLAUSES: [&str; 26] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "QUALIFY",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "INNER",
    "CROSS",
    "ON",
    "USING",
    "AND",
    "OR",
    "INSERT",
    "VALUES",
    "SET",
    "WHEN",
    "WITH",
];

/// SQL in one layout: the very tokens in their order, comments and hints among them, with white space made uniform, and
/// reserved words in capitals. `None` for what does not parse in the dialect.
pub fn normalised(text: &str, dialect: &str) -> Option<String> {
    let dialect = of_name(dialect);
    Parser::new(dialect.as_ref()).try_with_sql(text).ok()?.parse_statements().ok()?;
    let tokens = Tokenizer::new(dialect.as_ref(), text).with_unescape(false).tokenize().ok()?;
    let mut out = Layout::default();
    for token in &tokens {
        match token {
            Token::Whitespace(Whitespace::SingleLineComment { prefix, comment }) => {
                out.put(&format!("{prefix}{}", comment.trim_end()), false);
                out.end_line();
            }
            Token::Whitespace(Whitespace::MultiLineComment(comment)) => out.put(&format!("/*{comment}*/"), false),
            Token::Whitespace(_) => {}
            Token::Word(word) if word.quote_style.is_none() && reserved(word.keyword) => {
                let word = word.value.to_uppercase();
                out.put(&word, CLAUSES.contains(&word.as_str()));
            }
            Token::Comma => {
                out.put(",", false);
                out.end_line();
            }
            Token::SemiColon => {
                out.put(";", false);
                out.end_line();
            }
            other => out.put(&other.to_string(), false),
        }
    }
    Some(out.finish())
}

/// True for words that cannot be names: their case does not matter in any dialect.
fn reserved(keyword: Keyword) -> bool {
    keyword != Keyword::NoKeyword
        && (RESERVED_FOR_COLUMN_ALIAS.contains(&keyword) || RESERVED_FOR_TABLE_ALIAS.contains(&keyword))
        && ALL_KEYWORDS.contains(&format!("{keyword:?}").to_uppercase().as_str())
}

#[derive(Default)]
struct Layout {
    lines: Vec<String>,
    line: String,
}

impl Layout {
    fn put(&mut self, token: &str, clause: bool) {
        if clause && !self.line.is_empty() {
            self.end_line();
        }
        // A blank between any two tokens that are apart or would run together: `a . b` and `a.b` are the same.
        let apart = |c: char| !matches!(c, '.' | '(' | ')' | ',' | ';' | '[' | ']');
        let last = self.line.chars().last();
        let blank = last.is_some_and(apart) && token.chars().next().is_some_and(apart);
        if !self.line.is_empty() && blank {
            self.line.push(' ');
        }
        self.line.push_str(token);
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }

    fn finish(mut self) -> String {
        self.end_line();
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_and_case_of_reserved_words_do_not_matter_and_nothing_else_is_lost() {
        let one = normalised("select a,b from t where x = 'a  b' -- why\n", "generic");
        let other = normalised("SELECT a,\n       b\nFROM t\nWHERE x='a  b' -- why", "generic");
        assert!(one.is_some());
        assert_eq!(one, other);
        for changed in [
            "SELECT a, b FROM t WHERE x = 'a b' -- why",
            "SELECT a, b FROM t WHERE x = 'a  b' -- what",
            "SELECT a, b FROM T WHERE x = 'a  b' -- why",
            "SELECT /*+ BROADCAST(t) */ a, b FROM t WHERE x = 'a  b' -- why",
        ] {
            assert_ne!(one, normalised(changed, "generic"), "{changed}");
        }
    }

    #[test]
    fn operators_and_connections_tell_the_dialect() {
        let of = |class: &str, conn_type: &str| {
            dialect(&Operator { class: class.to_owned(), conn_type: conn_type.to_owned() })
        };
        assert_eq!(of("BigQueryInsertJobOperator", ""), "bigquery");
        assert_eq!(of("SQLExecuteQueryOperator", "postgres"), "postgresql");
        assert_eq!(of("SQLExecuteQueryOperator", ""), "generic");
        assert_eq!(normalised("INSERT OVERWRITE", "generic"), None);
        assert!(normalised("INSERT OVERWRITE TABLE t PARTITION (dt = '1') SELECT a FROM b", "hive").is_some());
    }
}
