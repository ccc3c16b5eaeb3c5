//! The way to the API server.

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Why the API server cannot even be asked.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("cannot use the kubeconfig {path}: {source}", path = path.display())]
    Kubeconfig {
        path: PathBuf,
        #[source]
        source: kube::config::KubeconfigError,
    },
    #[error("there is no kubeconfig, and this is no pod: {0}")]
    Nowhere(#[from] kube::config::InferConfigError),
    #[error("cannot make a client: {0}")]
    Client(#[from] kube::Error),
}

/// A client as the kubeconfig says; without one as the environment says: the usual kubeconfig, or the pod's account.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let mut config = match kubeconfig {
        None => Config::infer().await?,
        Some(path) => {
            let failed = |source| ConnectError::Kubeconfig { path: path.to_owned(), source };
            let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)?
        }
    };
    // A watch may be silent for long; whoever watches knows for how long.
    config.read_timeout = None;
    Ok(Client::try_from(config)?)
}
