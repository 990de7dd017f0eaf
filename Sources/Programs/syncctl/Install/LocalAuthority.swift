import OpenSSLCrypto
import Operations
import Posix
import Store

/// This host's own certificate authority, for one host name: a trial needs neither a DNS name nor the Internet. Only
/// root can read its key. Someone who steals the key can issue certificates only for that name and its subdomains (name
/// constraints, RFC 5280, section 4.2.1.10): trusting the authority risks nothing else.
struct LocalAuthority {
    private static let rootDays = 3_650
    /// Apple's systems accept at most 825 days (support.apple.com/103769).
    private static let certificateDays = 397
    /// A certificate that expires sooner is replaced.
    private static let renewalDays: Int64 = 60

    /// The authorities that an app has created, whichever certificate its site uses now.
    /// - Throws: ``PosixError``.
    static func all(of app: HostedApp = .current, root: String = "") throws(PosixError) -> [LocalAuthority] {
        try Directory.names(in: root + app.authorityFolder).sorted().map { LocalAuthority(root: root, host: $0) }
    }

    /// The prefix of each path; empty for the host itself.
    let root: String
    let host: String

    /// The authority's certificate, for phones and `curl --cacert`.
    var rootFile: String { SetupPaths.authority(of: host) + "/root.pem" }
    private var rootKey: String { SetupPaths.authority(of: host) + "/root.key" }
    private var files: (certificate: String, key: String) { SiteText.files(of: .ownAuthority, host: host) }
    /// Debian's update-ca-certificates(8) reads it.
    private var trustedFile: String { "/usr/local/share/ca-certificates/syncserver-\(host).crt" }

    /// Whether it has issued a certificate that need not be replaced yet.
    var hasCertificate: Bool {
        let enough = Self.renewalDays * 86_400
        do {
            let certificate = try Certificate(pem: text(files.certificate) ?? "")
            return try secondsLeft(rootFile) > enough && certificate.secondsLeft > enough
                && certificate.isFor(host: host)
                && certificate.fits(keyPEM: text(files.key) ?? "")
        } catch {
            return false
        }
    }

    /// The SHA-256 fingerprint of the certificate, which phones show before they trust it; `nil` without an authority.
    var fingerprint: String? {
        do {
            return try Certificate(pem: text(rootFile) ?? "").fingerprint.map { [$0].hexUppercase }.joined(
                separator: ":")
        } catch { return nil }
    }

    /// Whether programs on this host trust it.
    var isTrustedHere: Bool { text(rootFile) != nil && text(rootFile) == text(trustedFile) }

    /// Whether ``trust()`` has installed an authority for the name on this host, this one or an earlier one.
    private var isOffered: Bool { AtomicFile.exists(place(trustedFile)) }

    /// Whether ``withdraw()`` has something to remove.
    var isToldOf: Bool { isOffered || hasHostsLine }

    /// Issues a certificate, and first creates the authority if it is missing or expires soon.
    /// - Returns: whether the authority is new, so that nobody trusts it yet.
    /// - Throws: ``SetupFailure``, ``PosixError``.
    @discardableResult
    func issue() throws -> Bool {
        let folder = place(SetupPaths.authority(of: host))
        try Directory.makeParents(of: folder + "/root.pem")
        // The authority must outlive each of its certificates.
        let isNew = secondsLeft(rootFile) <= Int64(Self.certificateDays) * 86_400 || !AtomicFile.exists(place(rootKey))
        let work = folder + "/work"
        try Directory.make(work)
        defer { _ = try? ChildProcess.run(["rm", "-rf", work]) }
        let (newRoot, newRootKey) = isNew ? (work + "/root.pem", work + "/root.key") : (place(rootFile), place(rootKey))
        if isNew {
            try write(rootSettings, to: work + "/root.cnf")
            try openssl(
                ["req", "-x509", "-config", work + "/root.cnf", "-days", "\(Self.rootDays)"] + Self.newKey
                    + ["-keyout", newRootKey, "-out", newRoot])
        }
        try write(certificateSettings, to: work + "/server.cnf")
        try openssl(
            ["req", "-new", "-config", work + "/server.cnf"] + Self.newKey
                + ["-keyout", work + "/server.key", "-out", work + "/server.csr"])
        let number = try RandomBytes.generate(count: 16).hexLowercase
        try openssl([
            "x509", "-req", "-in", work + "/server.csr", "-CA", newRoot, "-CAkey", newRootKey, "-set_serial",
            "0x4" + number,
            "-days", "\(Self.certificateDays)", "-sha256", "-extfile", work + "/server.cnf", "-extensions", "server",
            "-out", work + "/server.pem",
        ])
        if isNew {
            try put(newRootKey, rootKey, 0o600)
            try put(newRoot, rootFile, 0o644)
        }
        try put(work + "/server.key", files.key, 0o600)
        try put(work + "/server.pem", files.certificate, 0o644)
        return isNew
    }

    /// Makes programs on this host trust it.
    /// - Throws: ``SetupFailure``, ``PosixError``.
    func trust() throws {
        guard let authority = text(rootFile) else {
            throw SetupFailure("there is no authority for \(host): \(HostedApp.current.command) setup --trial")
        }
        try Directory.makeParents(of: place(trustedFile))
        try AtomicFile.write(Array(authority.utf8), to: place(trustedFile), permissions: 0o644)
        try updateAuthorities()
    }

    /// Undoes ``trust()`` and ``makeNameKnown()``.
    /// - Throws: ``SetupFailure``, ``PosixError``.
    func withdraw() throws {
        try Directory.removeFile(place(trustedFile))
        try updateAuthorities()
        guard hasHostsLine, let text = text(Self.hosts) else { return }
        try rewriteHosts(text.replacing(hostsLine + "\n", with: ""))
    }

    private func updateAuthorities() throws {
        guard root.isEmpty else { return }
        let outcome = try ChildProcess.run(["update-ca-certificates"])
        guard outcome.status == 0 else { throw SetupFailure("update-ca-certificates failed: \(outcome.output)") }
    }

    // MARK: The host's name

    private static let hosts = "/etc/hosts"
    private var hostsLine: String { "127.0.0.1 \(host)  # SyncServer's trial" }

    private var hasHostsLine: Bool {
        text(Self.hosts)?.split(separator: "\n").contains(hostsLine[...]) == true
    }

    /// Whether the name resolves on this host.
    var isNameKnown: Bool {
        hasHostsLine
            || root.isEmpty && (try? ChildProcess.run(["getent", "hosts", host], within: .seconds(10)))?.status == 0
    }

    /// Lets the name resolve to the loopback address on this host.
    /// - Throws: ``PosixError``.
    func makeNameKnown() throws {
        var lines = text(Self.hosts) ?? ""
        if !lines.isEmpty, !lines.hasSuffix("\n") { lines += "\n" }
        try rewriteHosts(lines + hostsLine + "\n")
    }

    /// Rewrites it in place: containers mount the file, so a rename cannot replace it.
    private func rewriteHosts(_ text: String) throws {
        let path = place(Self.hosts)
        do { try AtomicFile.write(Array(text.utf8), to: path, like: path) } catch {
            try AtomicFile.write(Array(text.utf8), to: path + ".syncserver", permissions: 0o644)
            defer { try? Directory.removeFile(path + ".syncserver") }
            let outcome = try ChildProcess.run(["cp", path + ".syncserver", path])
            guard outcome.status == 0 else { throw SetupFailure("\(Self.hosts) cannot be changed: \(outcome.output)") }
        }
    }

    // MARK: OpenSSL

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256"]

    private var rootSettings: String {
        """
        [req]
        distinguished_name = name
        prompt = no
        x509_extensions = authority
        [name]
        CN = \(commonName("SyncServer trial on \(host)"))
        [authority]
        basicConstraints = critical, CA:TRUE, pathlen:0
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        nameConstraints = critical, @names
        [names]
        permitted;DNS.0 = \(host)
        excluded;IP.0 = 0.0.0.0/0.0.0.0
        excluded;IP.1 = 0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0

        """
    }

    private var certificateSettings: String {
        """
        [req]
        distinguished_name = name
        prompt = no
        [name]
        CN = \(commonName(host))
        [server]
        basicConstraints = critical, CA:FALSE
        keyUsage = critical, digitalSignature
        extendedKeyUsage = serverAuth
        subjectKeyIdentifier = hash
        authorityKeyIdentifier = keyid
        subjectAltName = DNS:\(host)

        """
    }

    /// At most 64 characters (RFC 5280, appendix A).
    private func commonName(_ text: String) -> String { String(text.prefix(64)) }

    private func openssl(_ arguments: [String]) throws {
        let outcome = try ChildProcess.run(["openssl"] + arguments)
        guard outcome.status == 0 else { throw SetupFailure("openssl \(arguments[0]) failed: \(outcome.output)") }
    }

    // MARK: Files

    private func place(_ path: String) -> String { root + path }

    private func text(_ path: String) -> String? {
        (try? TextFile.read(place(path))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The remaining validity of the certificate in a file; negative if there is none.
    private func secondsLeft(_ path: String) -> Int64 {
        do { return try Certificate(pem: text(path) ?? "").secondsLeft } catch { return -1 }
    }

    private func write(_ text: String, to path: String) throws(PosixError) {
        try AtomicFile.write(Array(text.utf8), to: path, permissions: 0o600)
    }

    private func put(_ source: String, _ path: String, _ permissions: UInt32) throws(PosixError) {
        try AtomicFile.write(try TextFile.read(source), to: place(path), permissions: permissions)
    }
}
