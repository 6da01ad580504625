//! A side of a comparison: one campaign, or several whose runs are taken together.

use dyno_archive::{Campaign, Run};

/// What stands between the names of campaigns that are taken together.
const AND: &str = " + ";

/// Campaigns whose runs are taken together, as if one campaign had made them.
#[derive(Clone, Debug)]
pub struct Pool<'a> {
    campaigns: Vec<&'a Campaign>,
}

impl<'a> Pool<'a> {
    /// Its campaigns.
    #[must_use]
    pub fn campaigns(&self) -> &[&'a Campaign] {
        &self.campaigns
    }

    /// What the user calls all of them; the name of its folder where one has no label.
    #[must_use]
    pub fn name(&self) -> String {
        let called = |campaign: &&Campaign| campaign.label().map_or_else(|| campaign.name(), str::to_owned);
        let names: Vec<String> = self.campaigns.iter().map(called).collect();
        names.join(AND)
    }

    /// The names of their folders, which no other has.
    #[must_use]
    pub fn folders(&self) -> String {
        let names: Vec<String> = self.campaigns.iter().map(|campaign| campaign.name()).collect();
        names.join(AND)
    }

    /// All their runs.
    pub fn runs(&self) -> impl Iterator<Item = &'a Run> {
        self.campaigns.iter().flat_map(|campaign| &campaign.runs)
    }

    /// The name of a run of one of them; of several campaigns with its own, as they may have runs of the same name.
    #[must_use]
    pub fn name_of(&self, run: &Run) -> String {
        let of = self
            .campaigns
            .iter()
            .find(|campaign| run.path.starts_with(&campaign.path));
        match of.filter(|_| self.campaigns.len() > 1) {
            Some(campaign) => format!("{}/{}", campaign.name(), run.name()),
            None => run.name(),
        }
    }
}

impl<'a> From<&'a Campaign> for Pool<'a> {
    fn from(campaign: &'a Campaign) -> Self {
        Self {
            campaigns: vec![campaign],
        }
    }
}

impl<'a> From<&Pool<'a>> for Pool<'a> {
    fn from(pool: &Pool<'a>) -> Self {
        pool.clone()
    }
}

impl<'a> FromIterator<&'a Campaign> for Pool<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Campaign>>(campaigns: I) -> Self {
        Self {
            campaigns: campaigns.into_iter().collect(),
        }
    }
}
