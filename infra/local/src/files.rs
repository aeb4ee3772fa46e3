//! The folder that holds the state: small JSON files beside the table's. In memory there is none.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::error::{Error, Result};

#[derive(Debug, Clone)]
pub struct Folder(Option<PathBuf>);

impl Folder {
    /// Opens the folder, and makes it where there is none.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        if let Some(path) = path {
            std::fs::create_dir_all(path).map_err(|error| at(path, &error))?;
        }
        Ok(Self(path.map(Path::to_owned)))
    }

    pub fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// Reads a file, if it is there.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(path) = self.0.as_ref().map(|folder| folder.join(name)) else {
            return Ok(None);
        };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| at(&path, &error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path, &error)),
        }
    }

    /// Writes a file as a whole: a process that is killed leaves the old one or the new one. Only its owner may read it.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let Some(path) = self.0.as_ref().map(|folder| folder.join(name)) else {
            return Ok(());
        };
        let beside = path.with_extension("new");
        let bytes = serde_json::to_vec(value).map_err(Error::internal)?;
        std::fs::write(&beside, bytes).map_err(|error| at(&beside, &error))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let owner = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&beside, owner).map_err(|error| at(&beside, &error))?;
        }
        std::fs::rename(&beside, &path).map_err(|error| at(&path, &error))
    }
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("{}: {error}", path.display()))
}
