//! Files of passwords.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use wirekv_proto::users::User;
use wirekv_proto::Users;

use crate::options::Options;

/// Longest of them: who may come in is looked for from the first line to the last.
const LONGEST: usize = 64 << 10;

/// What clients must say at first.
pub struct Passwords {
    pub users: Option<Arc<Users>>,
    /// Empty: none.
    pub of_redis: Vec<u8>,
}

impl Passwords {
    pub fn read(options: &Options) -> Result<Passwords> {
        let users = options.access.users.as_deref().map(users).transpose()?;
        Ok(Passwords {
            users: users.map(|list| Arc::new(Users::new(list))),
            of_redis: match &options.access.password_file {
                Some(file) => password(file)?,
                None => options.password.clone(),
            },
        })
    }
}

/// Lines `user:password`.
pub fn users(file: &Path) -> Result<Vec<User>> {
    let list = Users::parse(&contents(file)?);
    list.map_err(|line| anyhow::anyhow!("{}: line {line} is not user:password", file.display()))
}

/// One line.
pub fn password(file: &Path) -> Result<Vec<u8>> {
    let mut text = contents(file)?;
    let line = text.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(text.len());
    ensure!(
        line > 0 && text[line..].iter().all(u8::is_ascii_whitespace),
        "{} is not one line with a password",
        file.display()
    );
    text.truncate(line);
    Ok(text)
}

fn contents(file: &Path) -> Result<Vec<u8>> {
    let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    ensure!(text.len() <= LONGEST, "{} has more than {LONGEST} bytes", file.display());
    Ok(text)
}
