//! A port that speaks TLS, with a certificate of its own for `localhost`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::serve::Listener;
use rcgen::CertifiedKey;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub struct TlsPort {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    /// In PEM. A client that trusts this certificate trusts this port.
    pub certificate: String,
}

impl TlsPort {
    pub async fn open() -> Self {
        let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        let CertifiedKey { cert, key_pair } = generated.expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(key_pair.serialize_der());
        let settings = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has ciphers for every version")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key.into())
            .expect("the key is the certificate's");
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        Self {
            tcp: tcp.expect("a port"),
            acceptor: TlsAcceptor::from(Arc::new(settings)),
            certificate: cert.pem(),
        }
    }
}

impl Listener for TlsPort {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, from) = Listener::accept(&mut self.tcp).await;
            // A client that does not trust the certificate disconnects.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}
