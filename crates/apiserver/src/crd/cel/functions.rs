//! The functions that rules may call, as lines of a table: target, name, parameters, result.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::types::Type;

/// One way to call a function.
#[derive(Debug)]
pub struct Overload {
    pub target: Option<Type>,
    pub params: Vec<Type>,
    pub result: Type,
}

pub static FUNCTIONS: LazyLock<BTreeMap<String, Vec<Overload>>> = LazyLock::new(|| {
    let mut all: BTreeMap<String, Vec<Overload>> = BTreeMap::new();
    for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, overload) = read(line);
        all.entry(name).or_default().push(overload);
    }
    all
});

/// `list(string).join(string) string` or `size(list(A)) int`. Names with a dot are those of a library unless the part
/// before it is a type.
fn read(line: &str) -> (String, Overload) {
    let (head, result) = line.rsplit_once(' ').unwrap_or((line, "dyn"));
    let open = matching(head);
    let (callee, params) = (&head[..open], &head[open + 1..head.len() - 1]);
    let split = callee.rfind('.').map(|dot| (&callee[..dot], &callee[dot + 1..]));
    let (target, name) = match split {
        Some((library, _)) if LIBRARIES.contains(&library) => (None, callee),
        Some((target, name)) => (Some(Type::read(target)), name),
        None => (None, callee),
    };
    let params = Type::split(params).into_iter().map(Type::read).collect();
    (name.to_owned(), Overload { target, params, result: Type::read(result) })
}

/// Where the parameters open: the bracket that the last one closes.
fn matching(head: &str) -> usize {
    let mut depth = 0;
    for (place, char) in head.char_indices().rev() {
        match char {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place;
        }
    }
    0
}

const LIBRARIES: [&str; 8] = ["math", "sets", "base64", "optional", "cidr", "format", "strings", "jsonpatch"];

const TABLE: &str = "
    size(string) int
    size(bytes) int
    size(list(A)) int
    size(map(A,B)) int
    string.size() int
    bytes.size() int
    list(A).size() int
    map(A,B).size() int
    int(int) int
    int(uint) int
    int(double) int
    int(string) int
    int(timestamp) int
    int(duration) int
    uint(uint) uint
    uint(int) uint
    uint(double) uint
    uint(string) uint
    double(double) double
    double(int) double
    double(uint) double
    double(string) double
    string(string) string
    string(bool) string
    string(int) string
    string(uint) string
    string(double) string
    string(bytes) string
    string(timestamp) string
    string(duration) string
    bytes(bytes) bytes
    bytes(string) bytes
    bool(bool) bool
    bool(string) bool
    dyn(A) dyn
    type(A) type
    timestamp(string) timestamp
    timestamp(timestamp) timestamp
    timestamp(int) timestamp
    duration(string) duration
    duration(duration) duration
    duration(int) duration
    string.contains(string) bool
    string.startsWith(string) bool
    string.endsWith(string) bool
    string.matches(string) bool
    matches(string,string) bool
    timestamp.getFullYear() int
    timestamp.getFullYear(string) int
    timestamp.getMonth() int
    timestamp.getMonth(string) int
    timestamp.getDayOfYear() int
    timestamp.getDayOfYear(string) int
    timestamp.getDayOfMonth() int
    timestamp.getDayOfMonth(string) int
    timestamp.getDate() int
    timestamp.getDate(string) int
    timestamp.getDayOfWeek() int
    timestamp.getDayOfWeek(string) int
    timestamp.getHours() int
    timestamp.getHours(string) int
    timestamp.getMinutes() int
    timestamp.getMinutes(string) int
    timestamp.getSeconds() int
    timestamp.getSeconds(string) int
    timestamp.getMilliseconds() int
    timestamp.getMilliseconds(string) int
    duration.getHours() int
    duration.getMinutes() int
    duration.getSeconds() int
    duration.getMilliseconds() int
    string.charAt(int) string
    string.indexOf(string) int
    string.indexOf(string,int) int
    string.lastIndexOf(string) int
    string.lastIndexOf(string,int) int
    string.lowerAscii() string
    string.upperAscii() string
    string.replace(string,string) string
    string.replace(string,string,int) string
    string.split(string) list(string)
    string.split(string,int) list(string)
    string.substring(int) string
    string.substring(int,int) string
    string.trim() string
    string.format(list(dyn)) string
    strings.quote(string) string
    string.find(string) string
    string.findAll(string) list(string)
    string.findAll(string,int) list(string)
    list(string).join() string
    list(string).join(string) string
    list(A).isSorted() bool
    list(A).sum() A
    list(A).min() A
    list(A).max() A
    list(A).indexOf(A) int
    list(A).lastIndexOf(A) int
    list(A).slice(int,int) list(A)
    list(A).flatten() list(dyn)
    list(A).flatten(int) list(dyn)
    list(A).distinct() list(A)
    list(A).reverse() list(A)
    list(A).sort() list(A)
    lists.range(int) list(int)
    sets.contains(list(A),list(A)) bool
    sets.equivalent(list(A),list(A)) bool
    sets.intersects(list(A),list(A)) bool
    math.greatest(A) A
    math.greatest(A,A) A
    math.least(A) A
    math.least(A,A) A
    math.abs(A) A
    math.sign(A) A
    math.ceil(double) double
    math.floor(double) double
    math.round(double) double
    math.trunc(double) double
    math.isNaN(double) bool
    math.isInf(double) bool
    math.isFinite(double) bool
    base64.encode(bytes) string
    base64.decode(string) bytes
    optional.of(A) optional_type(A)
    optional.none() optional_type(A)
    optional.ofNonZeroValue(A) optional_type(A)
    optional_type(A).hasValue() bool
    optional_type(A).value() A
    optional_type(A).or(optional_type(A)) optional_type(A)
    optional_type(A).orValue(A) A
    url(string) kubernetes.URL
    isURL(string) bool
    kubernetes.URL.getScheme() string
    kubernetes.URL.getHost() string
    kubernetes.URL.getHostname() string
    kubernetes.URL.getPort() string
    kubernetes.URL.getEscapedPath() string
    kubernetes.URL.getQuery() map(string,list(string))
    quantity(string) kubernetes.Quantity
    isQuantity(string) bool
    kubernetes.Quantity.sign() int
    kubernetes.Quantity.isInteger() bool
    kubernetes.Quantity.asInteger() int
    kubernetes.Quantity.asApproximateFloat() double
    kubernetes.Quantity.add(kubernetes.Quantity) kubernetes.Quantity
    kubernetes.Quantity.add(int) kubernetes.Quantity
    kubernetes.Quantity.sub(kubernetes.Quantity) kubernetes.Quantity
    kubernetes.Quantity.sub(int) kubernetes.Quantity
    kubernetes.Quantity.compareTo(kubernetes.Quantity) int
    kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) bool
    kubernetes.Quantity.isLessThan(kubernetes.Quantity) bool
    ip(string) net.IP
    isIP(string) bool
    ip.isCanonical(string) bool
    string(net.IP) string
    net.IP.family() int
    net.IP.isUnspecified() bool
    net.IP.isLoopback() bool
    net.IP.isLinkLocalMulticast() bool
    net.IP.isLinkLocalUnicast() bool
    net.IP.isGlobalUnicast() bool
    cidr(string) net.CIDR
    isCIDR(string) bool
    string(net.CIDR) string
    net.CIDR.containsIP(string) bool
    net.CIDR.containsIP(net.IP) bool
    net.CIDR.containsCIDR(string) bool
    net.CIDR.containsCIDR(net.CIDR) bool
    net.CIDR.ip() net.IP
    net.CIDR.masked() net.CIDR
    net.CIDR.prefixLength() int
    semver(string) kubernetes.Semver
    semver(string,bool) kubernetes.Semver
    isSemver(string) bool
    isSemver(string,bool) bool
    kubernetes.Semver.major() int
    kubernetes.Semver.minor() int
    kubernetes.Semver.patch() int
    kubernetes.Semver.compareTo(kubernetes.Semver) int
    kubernetes.Semver.isGreaterThan(kubernetes.Semver) bool
    kubernetes.Semver.isLessThan(kubernetes.Semver) bool
    format.named(string) optional_type(kubernetes.NamedFormat)
    format.dns1123Label() kubernetes.NamedFormat
    format.dns1123Subdomain() kubernetes.NamedFormat
    format.dns1035Label() kubernetes.NamedFormat
    format.qualifiedName() kubernetes.NamedFormat
    format.dns1123LabelPrefix() kubernetes.NamedFormat
    format.dns1123SubdomainPrefix() kubernetes.NamedFormat
    format.dns1035LabelPrefix() kubernetes.NamedFormat
    format.labelValue() kubernetes.NamedFormat
    format.uri() kubernetes.NamedFormat
    format.uuid() kubernetes.NamedFormat
    format.byte() kubernetes.NamedFormat
    format.date() kubernetes.NamedFormat
    format.datetime() kubernetes.NamedFormat
    kubernetes.NamedFormat.validate(string) optional_type(list(string))
    jsonpatch.escapeKey(string) string
    _+_(int,int) int
    _+_(uint,uint) uint
    _+_(double,double) double
    _+_(string,string) string
    _+_(bytes,bytes) bytes
    _+_(list(A),list(A)) list(A)
    _+_(timestamp,duration) timestamp
    _+_(duration,timestamp) timestamp
    _+_(duration,duration) duration
    _-_(int,int) int
    _-_(uint,uint) uint
    _-_(double,double) double
    _-_(timestamp,duration) timestamp
    _-_(timestamp,timestamp) duration
    _-_(duration,duration) duration
    _*_(int,int) int
    _*_(uint,uint) uint
    _*_(double,double) double
    _/_(int,int) int
    _/_(uint,uint) uint
    _/_(double,double) double
    _%_(int,int) int
    _%_(uint,uint) uint
    !_(bool) bool
    -_(int) int
    -_(double) double
    _&&_(bool,bool) bool
    _||_(bool,bool) bool
    _==_(A,A) bool
    _!=_(A,A) bool
    @in(A,list(A)) bool
    @in(A,map(A,B)) bool
    _[_](list(A),int) A
    _[_](map(A,B),A) B
    _?_:_(bool,A,A) A
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_can_be_read() {
        let join = &FUNCTIONS["join"];
        assert_eq!(join.len(), 2);
        assert_eq!(join[1].target, Some(Type::read("list(string)")));
        assert_eq!(FUNCTIONS["optional.of"][0].result, Type::read("optional_type(A)"));
        assert_eq!(FUNCTIONS["getQuery"][0].result.to_string(), "map(string, list(string))");
        assert_eq!(FUNCTIONS["_+_"].len(), 9);
    }
}
