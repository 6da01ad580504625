//! What addresses call the settings of TLS.

use super::SslMode;

/// What the addresses of a database call the settings of TLS, for those who read a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Words {
    /// As libpq does.
    #[default]
    Libpq,
    /// As the clients of MySQL do.
    Mysql,
    /// As connect descriptors of Oracle do.
    Oracle,
}

impl Words {
    /// The setting that says how strictly TLS is asked for.
    pub const fn mode_setting(self) -> &'static str {
        match self {
            Self::Libpq => "sslmode",
            Self::Mysql => "ssl-mode",
            Self::Oracle => "PROTOCOL",
        }
    }

    /// The value of that setting. MySQL has no name for [`SslMode::Allow`], and gets that of the next stricter one;
    /// Oracle tells only whether there is TLS.
    pub const fn mode(self, mode: SslMode) -> &'static str {
        match (self, mode) {
            (Self::Libpq, mode) => mode.name(),
            (Self::Mysql, SslMode::Disable) => "disabled",
            (Self::Mysql, SslMode::Allow | SslMode::Prefer) => "preferred",
            (Self::Mysql, SslMode::Require) => "required",
            (Self::Mysql, SslMode::VerifyCa) => "verify_ca",
            (Self::Mysql, SslMode::VerifyFull) => "verify_identity",
            (Self::Oracle, SslMode::Disable) => "tcp",
            (Self::Oracle, _) => "tcps",
        }
    }

    /// The setting that names the file of certificates to trust.
    pub const fn roots_setting(self) -> &'static str {
        match self {
            Self::Libpq => "sslrootcert",
            Self::Mysql => "ssl-ca",
            Self::Oracle => "WALLET_LOCATION",
        }
    }

    /// The setting that names the file of our own certificate.
    pub const fn certificate_setting(self) -> &'static str {
        match self {
            Self::Libpq => "sslcert",
            Self::Mysql => "ssl-cert",
            Self::Oracle => "WALLET_LOCATION",
        }
    }

    /// The setting that names the file of its key.
    pub const fn key_setting(self) -> &'static str {
        match self {
            Self::Libpq => "sslkey",
            Self::Mysql => "ssl-key",
            Self::Oracle => "WALLET_LOCATION",
        }
    }
}
