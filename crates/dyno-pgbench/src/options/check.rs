//! What options mean together.

use super::{Connection, Environment, OptionError, Options, Parser, Request};
use crate::version::Version;

/// Transactions per client when neither `-t` nor `-T` is given.
const DEFAULT_TRANSACTIONS: i32 = 10;

impl Parser {
    /// Fills in defaults and finds what does not go together.
    pub(super) fn finish(mut self, operands: Vec<String>, environment: Environment) -> Result<Request, OptionError> {
        if self.options.scripts.list.is_empty() && !self.initialize {
            self.options.scripts.add_builtin("tpcb-like")?;
        }
        if self.options.protocol != dyno_wire::Protocol::Simple {
            for chosen in &self.options.scripts.list {
                let checked = chosen.script.check_parameters();
                checked.map_err(|error| OptionError::Scripts(crate::scripts::ScriptsError::Script(error)))?;
            }
        }
        if self.options.scripts.total_weight() == 0 && !self.initialize {
            return Err(OptionError::NoWeight);
        }
        self.options.threads = self.options.threads.min(self.options.clients);
        self.options.connection.database = database(self.database.take(), operands, environment)?;
        if self.initialize {
            return self.finish_init();
        }
        if self.for_init {
            return Err(OptionError::OnlyWhenInitializing);
        }
        check_run(&mut self.options)?;
        Ok(Request::Run(Box::new(self.options)))
    }

    fn finish_init(self) -> Result<Request, OptionError> {
        if self.for_benchmark {
            return Err(OptionError::NotWhenInitializing);
        }
        let mut options = self.options;
        let init = &mut options.init;
        init.progress_names_table = options.report_format >= Version::V17;
        if init.partitions == 0 && self.partition_method.is_some() {
            return Err(OptionError::MethodWithoutPartitions);
        }
        init.partition_method = self.partition_method;
        if let Some(steps) = self.steps {
            init.steps = steps;
        }
        init.no_vacuum = options.no_vacuum;
        init.scale = options.scale.unwrap_or(1).into();
        Ok(Request::Initialize(Box::new(options)))
    }
}

/// The database: `-d`, else the operand, else the environment, else the user's name; no operand may be left over.
fn database(given: Option<String>, operands: Vec<String>, environment: Environment) -> Result<String, OptionError> {
    let mut operands = operands.into_iter();
    let named = given.or_else(|| operands.next());
    if let Some(more) = operands.next() {
        return Err(OptionError::TooManyOperands(more));
    }
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    named
        .or_else(|| set("PGDATABASE"))
        .or_else(|| set("PGUSER"))
        .or_else(|| {
            let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
            Some(user.name)
        })
        .ok_or_else(|| OptionError::NoUser {
            uid: nix::unistd::geteuid().as_raw(),
        })
}

fn check_run(options: &mut Options) -> Result<(), OptionError> {
    if options.transactions.is_some() && options.duration_s.is_some() {
        return Err(OptionError::TransactionsAndDuration);
    }
    if options.transactions.is_none() && options.duration_s.is_none() {
        options.transactions = Some(DEFAULT_TRANSACTIONS);
    }
    check_log(options)?;
    if options.progress_timestamp && options.progress_s.is_none() {
        return Err(OptionError::TimestampWithoutProgress);
    }
    if options.max_tries == 0 && options.latency_limit_us.is_none() && options.duration_s.is_none() {
        return Err(OptionError::UnlimitedTries);
    }
    if options.warmup_s.is_some() {
        if options.duration_s.is_none() {
            return Err(OptionError::WarmupWithoutDuration);
        }
        if options.connect_each {
            return Err(OptionError::WarmupReconnecting);
        }
    }
    Ok(())
}

fn check_log(options: &Options) -> Result<(), OptionError> {
    if options.sampling_rate.is_some() {
        if !options.log {
            return Err(OptionError::SamplingWithoutLog);
        }
        if options.aggregate_s.is_some() {
            return Err(OptionError::SamplingAndAggregation);
        }
    }
    if options.aggregate_s.is_some() && !options.log {
        return Err(OptionError::AggregationWithoutLog);
    }
    if options.log_prefix.is_some() && !options.log {
        return Err(OptionError::PrefixWithoutLog);
    }
    if let (Some(interval), Some(duration)) = (options.aggregate_s, options.duration_s) {
        if interval > duration {
            return Err(OptionError::AggregationTooLong { interval, duration });
        }
        if duration % interval != 0 {
            return Err(OptionError::AggregationNotFitting { interval, duration });
        }
    }
    Ok(())
}

impl Connection {
    /// The target as the resolver understands it, and the variables that stand for the other options.
    ///
    /// In libpq a connection string in the database's place wins over `-h`, `-p` and `-U`, and these win over the
    /// environment.
    pub fn target(&self) -> (String, Vec<(&'static str, String)>) {
        let given = [("host", &self.host), ("port", &self.port), ("user", &self.user)];
        if self.database.starts_with("postgres://") || self.database.starts_with("postgresql://") {
            let variables = [("PGHOST", &self.host), ("PGPORT", &self.port), ("PGUSER", &self.user)];
            let set = variables
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.clone()?)));
            return (self.database.clone(), set.collect());
        }
        let mut target = String::new();
        for (keyword, value) in given {
            if let Some(value) = value {
                target += &format!("{keyword}={} ", quoted(value));
            }
        }
        if self.database.contains('=') {
            target += &self.database;
        } else if !self.database.is_empty() {
            target += &format!("dbname={}", quoted(&self.database));
        }
        (target, Vec::new())
    }
}

/// A value of a connection string.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}
