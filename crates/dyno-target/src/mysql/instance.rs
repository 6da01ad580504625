//! The private MariaDB or MySQL of a campaign.

use super::data::{self, Used, WORKING};
use super::database::MysqlDatabase;
use super::embedded::{self, Brand, EmbeddedOptions, Installation, Maker, Mysql};
use super::variables::by_canonical_name;
use super::{Scope, connect_until, connections};
use crate::embedded::cluster::role_of;
use crate::embedded::instance::{Held, Measured, fit};
use crate::embedded::place::Place;
use crate::embedded::server::Server;
use crate::embedded::{check_name, tell};
use crate::target::{
    Data, Database, EMBEDDED, Embedded, Instance, KillSwitch, Mapped, Needs, Progress, Route, StopFlag, TargetError,
    Wanted,
};
use crate::values::as_wanted;
use std::fmt;
use std::path::Path;

impl fmt::Display for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let maker = match self.maker {
            Maker::Mariadb => super::MARIADB,
            Maker::Mysql => super::MYSQL,
        };
        write!(f, "{EMBEDDED}:{maker}:{}{}", self.version, role_of(&self.cluster))
    }
}

impl Embedded for EmbeddedOptions {
    fn rehearse(&self, needs: Needs<'_>) -> Result<(), TargetError> {
        self.check()?;
        match self.maker {
            Maker::Mariadb => fit::<Installation>(needs, &self.version).map(drop),
            Maker::Mysql => fit::<Installation<Mysql>>(needs, &self.version).map(drop),
        }
    }

    fn look(&self) -> Result<String, TargetError> {
        Ok(EmbeddedOptions::look(self)?)
    }

    fn release(&self) -> (&'static str, Option<&str>) {
        let product = match self.maker {
            Maker::Mariadb => &embedded::MARIADB,
            Maker::Mysql => &embedded::MYSQL,
        };
        (
            product.name,
            Some(&*self.version).filter(|version| *version != embedded::SYSTEM),
        )
    }

    fn check_data(&self, data: &Data) -> Result<(), TargetError> {
        Ok(data::check(data)?)
    }

    fn in_role(&self, role: &str) -> Result<Box<dyn Embedded>, TargetError> {
        check_name("name of a server's role", role)?;
        let mut options = self.clone();
        role.clone_into(&mut options.cluster);
        Ok(Box::new(options))
    }

    fn hold(&self, switch: &KillSwitch, progress: &mut dyn Progress) -> Result<Box<dyn Instance>, TargetError> {
        let mut told = |event| tell(progress, &event);
        Ok(match self.maker {
            Maker::Mariadb => Box::new(Held::new(embedded::Embedded::prepare(self, &mut told)?, switch)),
            Maker::Mysql => Box::new(Held::new(embedded::EmbeddedMysql::prepare(self, &mut told)?, switch)),
        })
    }
}

impl<B: Brand> Measured for Installation<B> {
    /// How to mark the data before a load that may change it begins.
    type Prepared = Option<Used>;

    fn fit(settings: Vec<(String, String)>, clients: usize, release: &str) -> Result<Mapped, TargetError> {
        let mut settings = by_canonical_name(&settings);
        let notes = B::redo_log(release).fit(&mut settings);
        for (_, value) in &mut settings {
            *value = as_wanted(value, value);
        }
        connections::provide(&mut settings, clients)?;
        Ok(Mapped { settings, notes })
    }

    fn prepare(
        held: &mut Held<Self>,
        wanted: Wanted<'_>,
        _anew: bool,
        _notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Option<Used>, TargetError> {
        let mut client = connect_until(&held.server()?.connection(""), stop)?;
        let prepared = data::prepare(&mut client, wanted, stop, progress)?;
        if prepared.is_new {
            // There is no statement for a checkpoint, but a server that ends makes one. Every run begins so, because
            // data that is there already was not loaded since the server started.
            drop(client);
            held.restart(progress)?;
        }
        Ok(prepared.used)
    }

    fn database(server: &Server<Self>, used: &Option<Used>, route: Option<Route>) -> Box<dyn Database> {
        let info = match route {
            Some(Route::Tcp) => server.connection_tcp(WORKING),
            Some(Route::Unix) | None => server.connection(WORKING),
        };
        let database = MysqlDatabase::new(info, Scope::Database);
        let database = database.on_own_server(server.data_folder(), server.log_path());
        Box::new(database.marked(used.clone()))
    }

    fn copy(
        primary: &mut Held<Self>,
        place: &Place,
        fresh: &Path,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<embedded::Copied, TargetError> {
        embedded::copy(primary, place, fresh, progress, stop)
    }

    fn clear(_held: &Held<Self>) -> Result<(), TargetError> {
        // Data that a later run may use as it is stays; what workloads have changed is replaced before it is used.
        Ok(())
    }
}
