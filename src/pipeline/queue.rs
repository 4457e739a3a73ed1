//! A pipeline's assets and Dags, declared to a queue.

use chrono::{DateTime, Utc};

use super::model::Pipeline;
use crate::schedule::{ConsumerDag, ScheduleError, Scheduler};

/// Declares every asset and Dag of a pipeline to a scheduler, as the Dag processor does with Dag files: in one transaction,
/// and again each time, because timetables are not part of a store.
///
/// # Errors
/// When the store fails.
pub fn declare(pipeline: &Pipeline, scheduler: &mut Scheduler, at: DateTime<Utc>) -> Result<(), ScheduleError> {
    scheduler.store_mut().begin()?;
    let declared = (|| {
        for def in &pipeline.assets {
            scheduler.add_asset(&def.asset.key())?;
        }
        for dag in &pipeline.dags {
            let mut consumer = ConsumerDag::new(&dag.dag_id, dag.timetable.clone());
            consumer.catchup = dag.catchup;
            consumer.max_active_runs = usize::try_from(dag.max_active_runs).unwrap_or(usize::MAX);
            consumer.paused = dag.is_paused;
            scheduler.add_dag(consumer, at)?;
        }
        Ok(())
    })();
    match declared {
        Ok(()) => scheduler.store_mut().commit(),
        Err(error) => {
            scheduler.store_mut().rollback();
            Err(error)
        }
    }
}
