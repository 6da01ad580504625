//! SQL that one server reads in another way than others.

use crate::support::{Desk, Home, run_folders};

/// On a server in whose strings a backslash is a character like others, and in what it executes of comments.
#[test]
fn scripts_are_read_as_their_server_reads_them() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let script = r"select '\', id from tbl where id = :id /*! and k = :id */ and c <> 'x\';";
    for protocol in ["simple", "extended", "prepared"] {
        let name = format!("{protocol}.toml");
        let text = format!(
            "title = \"{protocol}\"\n[parameters]\nid = 7\n\
             [data]\nsetup = \"create table tbl (id int primary key, k int, c char(2))\"\n\
             finish = \"insert into tbl values (7, 7, 'ab')\"\n\
             [[workload]]\nprotocol = \"{protocol}\"\nscript = '''\n{script}\n'''\n\
             [phases]\nwarmup = \"0s\"\nmeasure = \"500ms\"\ninterval = \"100ms\"\n"
        );
        desk.file(&name, &text);
        let mode = "settings.sql_mode=NO_BACKSLASH_ESCAPES";
        let words = format!("{name} --target embedded:mariadb --set {mode}");
        desk.embedded(&home, &words).expect(0).shows("errors none");
        let runs = run_folders(&desk.archive());
        assert!(runs.last().unwrap().measured() > 0, "{protocol}");
    }
}
