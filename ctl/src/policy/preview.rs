//! `butlerctl policy preview`: what policies would say of everything that is in a cluster. Nothing is changed.

use std::path::PathBuf;

use butler_policies::policy::PolicySet;
use clap::Args;

use self::{cluster::Cluster, judge::Judge, report::Report};
use super::{Output, files};
use crate::failure::Failure;

mod cluster;
mod judge;
mod report;

pub(crate) const AFTER_HELP: &str = "\
Each Butler object is judged as if you created it today, as it is now: first by the mutating policies, then by the validating
ones. So this tells which objects a policy would refuse, and not what an update of them would run into; a policy that is
about updates or deletions only is asked nothing. Params, namespaces and facts are read from the cluster, and what a team
uses is counted without the object itself. Policies and bindings that are in the cluster take no part.

Exit codes: 0 nothing would be denied, 1 something would, or the policies cannot be loaded, 2 the command cannot do what was
asked.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Directories with policies, or files.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The cluster, and who asks; without it, as kubectl finds them.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// How to print what was found.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Judges everything; says whether nothing would be denied.
pub(crate) fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let files = files::read_all(&arguments.paths)?;
    let set = match PolicySet::load(&files) {
        Ok(loaded) => loaded.set,
        Err(problems) => {
            files::show(&problems, &files)?;
            return Ok(false);
        }
    };
    let report = tokio::runtime::Runtime::new()?.block_on(preview(arguments, set))?;
    match arguments.output {
        Output::Text => report.text()?,
        Output::Json => report.json()?,
    }
    Ok(report.denied() == 0)
}

async fn preview(arguments: &Arguments, set: PolicySet) -> Result<Report, Failure> {
    let cluster = Cluster::connect(arguments.kubeconfig.as_deref(), arguments.context.as_deref()).await?;
    let user = cluster.user().await?;
    let facts = cluster.facts(&set).await?;
    let mut report = Report::of(&set);
    let judge = Judge::new(set, facts, user);
    cluster.each_object(|kind, object| report.add(judge.judge(kind, object))).await?;
    Ok(report)
}
