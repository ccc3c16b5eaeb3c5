//! The server as a `tower::Service`: who asks, what for, and which handler answers.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH, USER_AGENT};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::accept::{Accepted, Encoding, Offer, Shape, negotiate, wants_pretty};
use super::body::BYTES_MAX;
use super::pages::Asked;
use super::path::{ResourcePath, Target, parse};
use super::query::Query;
use super::reply::{Reply, ReplyBody, Response, refused};
use super::reviews::is_review;
use super::{gzip, warnings};
use crate::admission::Admission;
use crate::aggregate::{Aggregated, Passed};
use crate::auth::rbac::Rbac;
use crate::auth::{self, Authentication, StaticUser, User};
use crate::clock::Clock;
use crate::dial::Dialer;
use crate::kinds::rules::path_segment;
use crate::kinds::{BuiltIn, Registry, Resource};
use crate::random::Random;
use crate::status::{About, Result, Status};
use crate::store::{self, HISTORY_MAX, Key, Store};

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// What a server is started with.
#[derive(Debug)]
pub struct Settings {
    pub clock: Clock,
    /// Everything invented comes from here.
    pub seed: [u8; 32],
    /// The token of the administrator; invented when there is none.
    pub admin_token: Option<String>,
    /// More users, who have what bindings give them.
    pub users: Vec<StaticUser>,
    /// How many changes of each kind are remembered for watches and lists that go on; older ones are answered with 410.
    pub history_max: usize,
    /// How often what is older than that is forgotten as well, as etcd is told to by a real server.
    pub compacts_every: Option<Duration>,
    /// How long an event is kept after it was last written; for ever when nothing is said.
    pub keeps_events: Option<Duration>,
    /// Whether pods get an account, and its token as a volume. The accounts must be there.
    pub assigns_accounts: bool,
    /// Whether what nobody owns and what lives in ending namespaces is removed, as controllers of a cluster do.
    pub collects: bool,
    /// What is there from the start; only what every cluster has when there is none.
    pub image: Option<Image>,
}

/// A server at rest: what it stores and the kinds it knows, in the form it works with. Many servers can be started from
/// one image, each going its own way from there, without any of them reading a definition again.
#[derive(Debug, Clone)]
pub struct Image {
    stored: store::Image,
    registry: Arc<Registry>,
}

impl Image {
    /// Writes what is stored; the kinds are part of that.
    pub fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.stored.write(out)
    }

    /// Reads what was written. Definitions are read when a server is started from it.
    pub fn read(input: impl io::BufRead) -> io::Result<Self> {
        let stored = store::Image::read(input)?;
        Ok(Self { stored, registry: Arc::new(Registry::new(Arc::new(BuiltIn::load()), Vec::new())) })
    }
}

impl Settings {
    /// A server where nothing happens that no client asked for.
    pub fn new(clock: Clock, seed: [u8; 32]) -> Self {
        let (history_max, compacts_every) = (HISTORY_MAX, None);
        Self {
            clock,
            seed,
            admin_token: None,
            users: Vec::new(),
            history_max,
            compacts_every,
            keeps_events: None,
            assigns_accounts: false,
            collects: false,
            image: None,
        }
    }
}

/// Everything that requests share.
#[derive(Debug)]
pub struct Server {
    pub store: Store,
    pub clock: Clock,
    pub random: Random,
    pub authentication: Authentication,
    pub rbac: Rbac,
    pub admission: Admission,
    /// What other servers answer for.
    pub aggregated: Aggregated,
    /// Whether the admission plugin ServiceAccount is on.
    pub assigns_accounts: bool,
    /// Calls outward.
    pub dialer: Dialer,
    registry: RwLock<Arc<Registry>>,
}

/// A running server: cloning it gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct ApiServer(Arc<Server>);

/// One request, understood as far as that is possible without knowing the kinds.
#[derive(Debug)]
pub struct Call {
    pub method: Method,
    pub path: ResourcePath,
    pub query: Query,
    pub accepted: Accepted,
    pub content_type: Option<String>,
    pub user_agent: String,
    pub user: User,
    pub body: Bytes,
    warnings: Mutex<Vec<String>>,
}

impl Call {
    /// Tells the client something beside the answer.
    pub fn warn(&self, text: impl Into<String>) {
        self.warnings.lock().expect("no one panics while warning").push(text.into());
    }

    pub fn key(&self) -> Key {
        Key::new(self.path.namespace.as_str(), self.path.name.as_str())
    }

    /// The resource and object of the path, for an error.
    pub fn about<'a>(&'a self, resource: &'a Resource) -> About<'a> {
        About { group: &resource.group, kind: &resource.plural, name: &self.path.name }
    }

    pub fn not_found(&self, resource: &Resource) -> Status {
        Status::not_found(self.about(resource))
    }
}

/// The verb of a request, as discovery and RBAC name it.
fn verb(method: &Method, path: &ResourcePath, query: &Query) -> Option<&'static str> {
    let has_name = !path.name.is_empty();
    let is_watch = path.is_watch || query.flag("watch").unwrap_or_default();
    match (method, has_name) {
        (&Method::GET, _) if is_watch && path.subresource.is_empty() => Some("watch"),
        (&Method::GET, true) => Some("get"),
        (&Method::GET, false) => Some("list"),
        (&Method::POST, _) => Some("create"),
        (&Method::PUT, true) => Some("update"),
        (&Method::PATCH, true) => Some("patch"),
        (&Method::DELETE, true) => Some("delete"),
        (&Method::DELETE, false) => Some("deletecollection"),
        _ => None,
    }
}

/// Forgets at each turn what happened before the last one, as long as there is a server.
async fn compact(server: Weak<Server>, every: Duration) {
    let mut seen = 0;
    loop {
        tokio::time::sleep(every).await;
        let Some(server) = server.upgrade() else { return };
        server.store.compact(seen);
        seen = server.store.revision();
    }
}

impl ApiServer {
    /// A server with what its image has, or with nothing in it but what every cluster has. Must be called inside a
    /// tokio runtime.
    pub fn start(settings: Settings) -> Self {
        let random = Random::from_seed(settings.seed);
        let token = settings.admin_token.unwrap_or_else(|| random.token());
        let registry = match &settings.image {
            Some(image) => Arc::clone(&image.registry),
            None => Arc::new(Registry::new(Arc::new(BuiltIn::load()), Vec::new())),
        };
        let store = Store::with_history(settings.history_max);
        let server = Server {
            rbac: Rbac::new(&store),
            assigns_accounts: settings.assigns_accounts,
            store,
            clock: settings.clock,
            authentication: Authentication::new(token, settings.users, &random.seed()),
            random,
            admission: Admission::default(),
            aggregated: Aggregated::default(),
            dialer: Dialer::default(),
            registry: RwLock::new(registry),
        };
        let server = Arc::new(server);
        if settings.collects {
            crate::collect::start(&server);
            crate::tally::start(&server);
        }
        if let Some(every) = settings.compacts_every {
            tokio::spawn(compact(Arc::downgrade(&server), every));
        }
        if let Some(kept) = settings.keeps_events {
            tokio::spawn(crate::expire::run(Arc::downgrade(&server), kept));
        }
        match &settings.image {
            Some(image) => {
                server.store.load(&image.stored);
                if image.registry.custom().is_empty() {
                    server.serve_stored_definitions();
                }
            }
            None => server.bootstrap(),
        }
        Self(server)
    }

    /// What others can be started from. Nothing may be asked of the server meanwhile.
    pub fn image(&self) -> Image {
        Image { stored: self.0.store.image(), registry: self.0.registry() }
    }

    /// Another handle to a server.
    pub fn of(server: Arc<Server>) -> Self {
        Self(server)
    }

    /// The bearer token that may do everything.
    pub fn admin_token(&self) -> &str {
        self.0.authentication.admin_token()
    }

    pub fn server(&self) -> &Arc<Server> {
        &self.0
    }

    /// Answers one request.
    pub async fn handle<B>(&self, request: http::Request<B>) -> Response
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let header = |name: http::HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let plain = Accepted::JSON;
        // Read before anything is answered: a connection whose request was not read to its end cannot be used again.
        let body = match tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, BYTES_MAX).collect()).await {
            Err(_) => return refused(&Status::timeout(), plain, &[]),
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let message = format!("Request entity too large: limit is {BYTES_MAX}");
                return refused(&Status::new(413, "RequestEntityTooLarge", message), plain, &[]);
            }
            Ok(Err(_)) => return refused(&Status::bad_request("the body could not be read"), plain, &[]),
        };
        let target = parse(parts.uri.path());
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let wanted = auth::Attributes::of_request(&parts.method, parts.uri.path(), &target, &query);
        let user = match self.0.admitted_user(&parts.headers, &wanted) {
            Ok(user) => user,
            Err(status) => return refused(&status, plain, &[]),
        };
        let passed = Passed {
            method: &parts.method,
            path_and_query: parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str),
            headers: &parts.headers,
            user: &user,
            body: body.clone(),
        };
        if let Some(answer) = self.0.pass_on(passed).await {
            return answer;
        }
        let (path, other) = match target {
            Target::Resource(path) => (path, None),
            other => (ResourcePath::default(), Some(other)),
        };
        if let Some(target) = other {
            let asked = Asked {
                method: &parts.method,
                accept: header(ACCEPT).unwrap_or_default(),
                known: header(IF_NONE_MATCH),
                query: &query,
            };
            return match self.0.page_of(&target, &asked) {
                Ok(reply) => reply.encode(plain, &[]),
                Err(status) => refused(&status, plain, &[]),
            };
        }
        if !self.0.serves(&path) {
            return Reply::text(404, "404 page not found\n").encode(plain, &[]);
        }
        let mut call = Call {
            accepted: plain,
            content_type: header(CONTENT_TYPE).map(str::to_owned),
            user_agent: header(USER_AGENT).unwrap_or_default().to_owned(),
            method: parts.method.clone(),
            path,
            query,
            user,
            body,
            warnings: Mutex::default(),
        };
        let result = self.0.dispatch(&mut call, header(ACCEPT)).await;
        let warnings = warnings::sent(call.warnings.into_inner().expect("no one panics while warning"));
        match result {
            Ok(reply) => gzip::answer(&parts.headers, reply.encode(call.accepted, &warnings)),
            Err(status) => refused(&status, call.accepted, &warnings),
        }
    }
}

impl Server {
    /// The kinds as they are now.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read().expect("nobody panics with the registry"))
    }

    /// Changes which custom kinds there are.
    pub fn replace_registry(&self, change: impl FnOnce(&Registry) -> Registry) {
        let mut registry = self.registry.write().expect("nobody panics with the registry");
        *registry = Arc::new(change(&registry));
    }

    /// Whether there is such a place at all. Built-in groups answer for what they do not have; groups of CRDs do not.
    fn serves(&self, path: &ResourcePath) -> bool {
        let registry = self.registry();
        match registry.find(&path.group, &path.version, &path.plural) {
            Some(found) if found.custom.is_some() => path.namespace.is_empty() || found.is_namespaced,
            Some(_) => true,
            None => registry.has_built_in_group(&path.group),
        }
    }

    /// What the path names, and whether it can be asked for this.
    fn route(&self, call: &Call) -> Result<(Arc<Resource>, &'static str)> {
        let registry = self.registry();
        let path = &call.path;
        let resource = registry.find(&path.group, &path.version, &path.plural).ok_or_else(Status::unknown_resource)?;
        let verb = verb(&call.method, path, &call.query).ok_or_else(Status::method_not_allowed)?;
        if let Some(why) = path_segment(&path.name).first() {
            return Err(Status::bad_request(format!("Name parameter invalid: {:?}: {why}", path.name)));
        }
        let is_in_namespace = !path.namespace.is_empty();
        if is_in_namespace && !resource.is_namespaced
            || !is_in_namespace && resource.is_namespaced && !path.name.is_empty()
        {
            return Err(Status::unknown_resource());
        }
        if !path.subresource.is_empty() {
            let unknown = || match resource.custom {
                Some(_) => call.not_found(resource),
                None => Status::unknown_resource(),
            };
            let sub = resource.subresource(&path.subresource).ok_or_else(unknown)?;
            return match sub.verbs.iter().any(|known| known == verb) {
                true => Ok((Arc::clone(resource), verb)),
                false => Err(Status::method_not_allowed()),
            };
        }
        let writes_everywhere = verb == "create" && resource.is_namespaced && !is_in_namespace;
        let creates_a_name = verb == "create" && !path.name.is_empty();
        if !resource.allows(verb) || writes_everywhere || creates_a_name {
            return Err(Status::method_not_allowed());
        }
        Ok((Arc::clone(resource), verb))
    }

    /// Finds out what is asked for and in which form the answer is wanted, and does it.
    async fn dispatch(self: &Arc<Self>, call: &mut Call, accept: Option<&str>) -> Result<Reply> {
        let (resource, verb) = self.route(call)?;
        let (is_stream, is_single) = (verb == "watch", !["list", "watch"].contains(&verb));
        let offer = Offer { is_custom: resource.custom.is_some(), is_stream, is_single };
        call.accepted = negotiate(accept, offer)?;
        if call.accepted.encoding == Encoding::Json && wants_pretty(&call.query, &call.user_agent) {
            call.accepted.encoding = Encoding::PrettyJson;
        }
        call.open_protobuf(&resource)?;
        let reply = self.answer(call, &resource, verb).await?;
        match reply.body {
            // What was written is shown in the form that was asked for, too.
            ReplyBody::Value(object)
                if call.accepted.shape != Shape::Whole && ["create", "update", "patch", "delete"].contains(&verb) =>
            {
                let is_it = object["kind"] == *resource.kind && call.path.subresource.is_empty();
                let shown = if is_it { self.reshaped(call, &resource, &object)? } else { object };
                Ok(Reply { code: reply.code, body: ReplyBody::Value(shown) })
            }
            body => Ok(Reply { code: reply.code, body }),
        }
    }

    async fn answer(self: &Arc<Self>, call: &Call, resource: &Arc<Resource>, verb: &'static str) -> Result<Reply> {
        if let Some(warning) = resource.custom.as_ref().and_then(|custom| custom.deprecation.as_ref()) {
            call.warn(warning.clone());
        }
        if let Some(warning) = resource.rules.deprecation {
            call.warn(warning);
        }
        match (verb, call.path.subresource.as_str()) {
            ("get", "") => self.get(call, resource).await,
            ("list", _) => self.list(call, resource, &call.query.list_options()?).await,
            ("watch", _) => {
                let mut options = call.query.list_options()?;
                options.is_watch = true;
                self.watch(call, resource, &options).await
            }
            ("delete", "") => self.delete(call, resource).await,
            ("deletecollection", "") => self.delete_collection(call, resource).await,
            ("create", "") if is_review(resource) => self.review(call, resource).await,
            ("create", "") => self.create(call, resource).await,
            ("update", "") => self.update(call, resource).await,
            ("patch", "") => self.patch(call, resource).await,
            (verb, _) => self.subresource(call, resource, verb).await,
        }
    }
}

impl<B> tower::Service<http::Request<B>> for ApiServer
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.handle(request).await) })
    }
}
