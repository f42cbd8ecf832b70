//! What is judged, when, for whom, and what is known around it.

use std::cell::OnceCell;

use butler_api::butler_config::{SupportedKubernetes, SupportedRange};
use butler_api::reference::NsRef;
use butler_api::{ButlerConfigSpec, ProviderConfig, Team, TenantCluster};

use crate::facts::{FactKey, Facts, Lookup};
use crate::review::Caller;

/// What a rule may look at.
#[derive(Debug)]
pub struct Case<'a, T> {
    /// The object as it is to be.
    pub object: &'a T,
    /// How it comes to be so.
    pub moment: Moment<'a, T>,
    /// Who asks; nobody when an object is judged as it stands.
    pub caller: Option<&'a Caller<'a>>,
    /// What is known.
    pub facts: &'a Facts,
    /// What many rules look up, once it was.
    looked_up: LookedUp<'a>,
}

#[derive(Debug, Default)]
struct LookedUp<'a> {
    team: OnceCell<Option<&'a Team>>,
    provider_ref: OnceCell<Option<NsRef>>,
    provider: OnceCell<Option<&'a ProviderConfig>>,
}

/// How an object comes to be as it is.
#[derive(Debug)]
pub enum Moment<'a, T> {
    /// It is made.
    Create,
    /// It changes.
    Update {
        /// As it was.
        old: &'a T,
    },
    /// It is as it is: judged to see what an update may keep, or whether what slipped past the gate may be worked on.
    Standing,
}

impl<'a, T> Case<'a, T> {
    /// The case of an object.
    pub fn new(
        object: &'a T,
        moment: Moment<'a, T>,
        caller: Option<&'a Caller<'a>>,
        facts: &'a Facts,
    ) -> Self {
        Self { object, moment, caller, facts, looked_up: LookedUp::default() }
    }

    /// The object as it was, if it changes.
    pub fn old(&self) -> Option<&'a T> {
        match self.moment {
            Moment::Update { old } => Some(old),
            Moment::Create | Moment::Standing => None,
        }
    }

    /// Whether the object is being made.
    pub fn is_create(&self) -> bool {
        matches!(self.moment, Moment::Create)
    }

    /// The platform's settings, or the defaults of them.
    pub fn config(&self) -> Option<&'a ButlerConfigSpec> {
        self.facts.config_spec()
    }

    /// The minors that the hosted control plane runs.
    pub fn hosted(&self) -> SupportedRange {
        self.config().map_or_else(
            || SupportedKubernetes::default().range(),
            |config| config.supported_kubernetes.range(),
        )
    }

    /// Whether the caller is an administrator of the platform: by their User, by the group that Kubernetes lets do
    /// anything, or by the API server's authorization. A User that says otherwise is final.
    pub fn caller_is_administrator(&self) -> bool {
        let Some(caller) = self.caller else { return false };
        if caller.groups.iter().any(|group| group == "system:masters") {
            return true;
        }
        match self.facts.user(&caller.name) {
            Lookup::Found(user) => {
                !user.spec.disabled() && user.spec.platform_role() == butler_api::user::PlatformRole::Admin
            }
            Lookup::Absent => self.facts.is_authorized_administrator(&caller.name),
            // Their User may be disabled, and that would be final.
            Lookup::Unknown => false,
        }
    }

    /// The facts that [`Case::caller_is_administrator`] looked at.
    pub fn administrator_facts(&self) -> Vec<FactKey> {
        let caller = self.caller.map(|caller| caller.name.to_string()).unwrap_or_default();
        vec![FactKey::User(caller.to_lowercase()), FactKey::Administrator(caller)]
    }
}

impl<'a> Case<'a, TenantCluster> {
    /// The namespace of the cluster.
    pub fn namespace(&self) -> &'a str {
        self.object.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The team that the cluster names.
    pub fn team_name(&self) -> Option<&'a str> {
        self.object.spec.team_ref.as_ref().map(|team| team.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The team that the cluster names, if it is known. That it is not is for the rule `tenancy-mode` to say.
    pub fn team(&self) -> Option<&'a Team> {
        *self.looked_up.team.get_or_init(|| self.facts.team(self.team_name()?).found())
    }

    /// Whether that field of the cluster was left out and filled in, as the annotation says.
    pub fn was_filled_in(&self, path: &str) -> bool {
        let annotations = self.object.metadata.annotations.as_ref();
        let filled_in = annotations.and_then(|it| it.get(butler_api::labels::annotations::FILLED_IN));
        filled_in.is_some_and(|paths| paths.split(',').any(|filled| filled == path))
    }

    /// The ProviderConfig that the cluster uses, its own or a default.
    pub fn provider_ref(&self) -> Option<&NsRef> {
        let find = || self.object.spec.provider(self.team().map(|team| &team.spec), self.config());
        self.looked_up.provider_ref.get_or_init(find).as_ref()
    }

    /// The same as a finding rests on it.
    pub fn provider_fact(&self) -> Option<FactKey> {
        self.provider_ref().cloned().map(FactKey::Provider)
    }

    /// The ProviderConfig that the cluster uses, if it is known. That it is not is for the rule `provider-access` to
    /// say.
    pub fn provider(&self) -> Option<&'a ProviderConfig> {
        *self.looked_up.provider.get_or_init(|| self.facts.provider(self.provider_ref()?).found())
    }
}
