//! Keys and certificates of one bed, made in a few milliseconds without any outside program.
//!
//! One authority signs the API server's certificate and is what clients trust; a second one signs the front proxy's,
//! so that a client certificate of the first never passes as an aggregated request.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};

use crate::cache::{make_dir, write};
use crate::problem::{Problem, Result};

/// The name that the API server calls its front proxy client by.
pub const FRONT_PROXY: &str = "front-proxy-client";

/// Paths of the key files in one directory, and what clients need of them.
#[derive(Debug, Clone)]
pub struct Keys {
    pub dir: PathBuf,
    /// PEM certificate of the authority that signed the API server's certificate.
    pub authority: String,
    /// Bearer token of a user in `system:masters`.
    pub admin_token: String,
}

impl Keys {
    /// Makes all keys anew in `dir`.
    pub fn create(dir: &Path) -> Result<Keys> {
        make_dir(dir)?;
        let authority = issuer("kueue-testbed-ca")?;
        let server = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let names =
            ["127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let mut params = CertificateParams::new(names.map(String::from)).map_err(failed)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        named(&mut params, "kube-apiserver");
        let certificate = params.signed_by(&server, &authority).map_err(failed)?;
        write(&dir.join("ca.crt"), &authority.pem())?;
        write(&dir.join("apiserver.crt"), &certificate.pem())?;
        write_secret(&dir.join("apiserver.key"), &server.serialize_pem())?;

        let front_authority = issuer("kueue-testbed-front-proxy-ca")?;
        let client = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        named(&mut params, FRONT_PROXY);
        let certificate = params.signed_by(&client, &front_authority).map_err(failed)?;
        write(&dir.join("front-proxy-ca.crt"), &front_authority.pem())?;
        write(&dir.join("front-proxy.crt"), &certificate.pem())?;
        write_secret(&dir.join("front-proxy.key"), &client.serialize_pem())?;

        let accounts = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        write_secret(&dir.join("sa.key"), &accounts.serialize_pem())?;
        write(&dir.join("sa.pub"), &accounts.public_key_pem())?;

        let admin_token = random_token()?;
        write_secret(&dir.join("tokens.csv"), &format!("{admin_token},admin,admin,system:masters\n"))?;
        Ok(Keys { dir: dir.to_path_buf(), authority: authority.pem(), admin_token })
    }

    /// The path of one of the files, as text for a command line.
    pub fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}

fn issuer(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    named(&mut params, name);
    CertifiedIssuer::self_signed(params, key).map_err(failed)
}

fn named(params: &mut CertificateParams, name: &str) {
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
}

#[allow(clippy::needless_pass_by_value, reason = "used as map_err's function")]
fn failed(error: rcgen::Error) -> Problem {
    Problem::new(format!("cannot make a certificate: {error}"))
}

fn random_token() -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 16];
    let read = fs::File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Problem::file("read", source, &error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file that only its owner may read.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Problem::file("write", path, &error))
}
