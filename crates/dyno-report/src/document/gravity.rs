//! How much each warning matters to whoever reads the figures, so that the gravest is seen first.

use super::model::Gravity;
use dyno_archive::summary::Warning;

/// How much `warning` matters.
pub(crate) fn gravity_of(warning: &Warning) -> Gravity {
    use Warning::*;
    match warning {
        EndedEarly { .. }
        | Aborted { .. }
        | NoTransactions { .. }
        | Unfinished { .. }
        | SettingDiffers { .. }
        | ArchiveStopped { .. } => Gravity::Void,
        // What a schedule asks for and is not done is a result, but one that goes on getting worse.
        RateMissed { .. }
        | Errors { .. }
        | Late { .. }
        | LoadHostBusy { .. }
        | LoadGeneratorBusy { .. }
        | Descheduled { .. }
        | NearCeiling { .. }
        | Steal { .. }
        | SlowClock { .. }
        | Swapping { .. }
        | CostlySamples { .. }
        | FewRows { .. }
        | HeldUp { .. }
        | OneSided { .. }
        | EnvironmentDiffers { .. }
        | PlansDiffer { .. } => Gravity::Biased,
        FewIntervals { .. }
        | Unsteady { .. }
        | NoSteadyState { .. }
        | FewCheckpoints { .. }
        | FewRepetitions { .. }
        | PowerSaving { .. }
        | NearCache { .. } => Gravity::Uncertain,
        NotDurable { .. } | Note { .. } => Gravity::Note,
    }
}
