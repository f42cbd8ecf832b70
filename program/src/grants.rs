//! Whether a cluster holds a grant of its team's quota, and asking for one afterwards.
//!
//! The gate grants what it admits. Whoever builds clusters builds only what holds a grant, so what slipped past the gate is
//! not built before it was asked for here: by the same decision as the gate's, and by the same rule, a write of the team's
//! ledger that succeeds only on the version that was read.

use std::time::Duration;

use butler_api::QuotaLedger;
use butler_api::names::ObjectUid;
use butler_api::quota::ledger::LedgerError;
use butler_api::quota::{Holding, Ledger, Limit, Refusal};
use butler_api::reference::{NsRef, SYSTEM_NAMESPACE};
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::time::timeout;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often somebody else may be faster. The gate writes a busy team's ledger many times a second.
const TRIES: usize = 10;

/// Reads and writes the ledgers of teams.
#[derive(Clone)]
pub struct Grants {
    ledgers: Api<QuotaLedger>,
}

impl std::fmt::Debug for Grants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grants").finish_non_exhaustive()
    }
}

/// Why there is no grant.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum GrantError {
    #[error("the Team `{0}` has no QuotaLedger yet; the gate makes it")]
    Missing(String),
    #[error("the QuotaLedger of the Team `{0}` is being made anew: {1}")]
    Lost(String, LedgerError),
    #[error("it does not fit the limits of its team")]
    Refused(Refusal),
    #[error("others are always faster")]
    Busy,
    #[error("the API server does not answer")]
    NoAnswer,
    #[error("{0}")]
    Api(#[from] kube::Error),
}

impl Grants {
    /// Asks through that client, which needs `get` and `update` of `quotaledgers` in `butler-system`.
    pub fn new(client: Client) -> Self {
        Self { ledgers: Api::namespaced(client, SYSTEM_NAMESPACE) }
    }

    /// Whether a cluster was granted what it takes, as the ledger is stored now.
    ///
    /// # Errors
    /// When there is no ledger that could say.
    pub async fn holds(
        &self,
        team: &str,
        at: &NsRef,
        uid: ObjectUid,
        holding: &Holding,
    ) -> Result<bool, GrantError> {
        Ok(self.read(team).await?.1.grants(at, uid, holding))
    }

    /// Asks for a cluster that got past the gate. These limits have to be all that count for it, as they are stored now.
    ///
    /// # Errors
    /// When it does not fit, when the ledger has not seen it yet ([`Refusal::Unknown`]), or when nobody can say.
    pub async fn ask(
        &self,
        team: &str,
        at: &NsRef,
        uid: ObjectUid,
        limits: &[Limit],
    ) -> Result<(), GrantError> {
        for _ in 0..TRIES {
            let (mut object, before) = self.read(team).await?;
            let mut ledger = before.clone();
            ledger.grant(at, uid, limits).map_err(GrantError::Refused)?;
            if ledger == before {
                return Ok(());
            }
            object.spec = ledger.write(object.spec.writes + 1);
            let params = PostParams::default();
            match timeout(PATIENCE, self.ledgers.replace(team, &params, &object)).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(GrantError::NoAnswer),
            }
        }
        Err(GrantError::Busy)
    }

    async fn read(&self, team: &str) -> Result<(QuotaLedger, Ledger), GrantError> {
        let read =
            timeout(PATIENCE, self.ledgers.get_opt(team)).await.map_err(|_| GrantError::NoAnswer)??;
        let object = read.ok_or_else(|| GrantError::Missing(team.to_owned()))?;
        let ledger = Ledger::read(&object).map_err(|error| GrantError::Lost(team.to_owned(), error))?;
        Ok((object, ledger))
    }
}
