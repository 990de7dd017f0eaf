import OpenSSLCrypto
import Posix

/// Connects as a phone does, by HTTPS and the server's name, to nginx on this host.
public struct FrontDoorCheck: Sendable {
    /// Where to connect to, and as whom to address it.
    public struct Door: Sendable {
        public var name: String
        /// Host and port.
        public var address: String
        public var isSecure: Bool
        /// The certificate that nginx has to present, if its configuration says so.
        public var certificateFile: String?

        public init(name: String, address: String, isSecure: Bool, certificateFile: String? = nil) {
            self.name = name
            self.address = address
            self.isSecure = isSecure
            self.certificateFile = certificateFile
        }
    }

    /// What answered a request for HealthCheck.
    public struct Reply: Sendable {
        public var status: Int
        /// Whether it has the headers of this server.
        public var isOurs: Bool

        public init(status: Int, isOurs: Bool) {
            self.status = status
            self.isOurs = isOurs
        }
    }

    /// Why there was no reply.
    public struct NoReply: Error {
        public var sentence: String
        /// Whether it is the certificate.
        public var isCertificate: Bool

        public init(_ sentence: String, isCertificate: Bool) {
            self.sentence = sentence
            self.isCertificate = isCertificate
        }
    }

    /// Requests HealthCheck at a door; trusts the authorities of a PEM file, or if there is none those of the system.
    public typealias Request = @Sendable (_ door: Door, _ authorities: String?) -> Result<Reply, NoReply>

    /// A PEM file of authorities that people's devices trust although this machine does not.
    let authorities: String?
    let limit: Duration
    let request: Request

    public init(authorities: String?, within limit: Duration, request: @escaping Request) {
        self.authorities = authorities
        self.limit = limit
        self.request = request
    }

    /// The doors of a site: each of its names, where nginx listens for TLS if it does so anywhere.
    public static func doors(of site: NginxSite, host: String?) -> [Door] {
        let all = site.servers.flatMap { server in
            let names = server.names.isEmpty ? [host].compactMap(\.self) : server.names
            // One family of addresses is enough.
            let listeners = [true, false].compactMap { isSecure in
                server.listeners.first { $0.isSecure == isSecure }
            }
            return names.filter { host == nil || $0 == host }.flatMap { name in
                listeners.map { listener in
                    Door(
                        name: name, address: listener.address, isSecure: listener.isSecure,
                        certificateFile: listener.isSecure ? server.certificates.first?.certificate : nil)
                }
            }
        }
        return all.contains(where: \.isSecure) ? all.filter(\.isSecure) : all
    }

    public func examine(_ door: Door) -> [Diagnosis] {
        guard door.isSecure else { return [judge(request(door, authorities), door)] }
        do throws(ServedCertificate.Failure) {
            var served = try ServedCertificate.ask(door.address, name: door.name, authorities: nil, within: limit)
            var trusted: String?
            if served.distrust != nil, let authorities {
                served = try ServedCertificate.ask(
                    door.address, name: door.name, authorities: authorities, within: limit)
                trusted = authorities
            }
            let (diagnoses, isUsable) = judge(served, door)
            guard isUsable else { return diagnoses }
            // A certificate that this machine does not trust may still be valid: of a private authority.
            if served.distrust != nil { trusted = door.certificateFile }
            return diagnoses + [judge(request(door, trusted), door)]
        } catch {
            switch error {
            case .closed(let reason): return [closed(door, reason)]
            case .unknown(let reason):
                let note = Diagnosis(
                    .frontDoorUnread, "the certificate that nginx presents cannot be looked at: \(reason)",
                    fix: "apt install openssl")
                return [note, judge(request(door, authorities), door)]
            }
        }
    }

    private func closed(_ door: Door, _ reason: String) -> Diagnosis {
        Diagnosis(
            .frontDoorClosed, "nothing accepts connections for \(door.name) at \(door.address): \(reason)",
            fix: "systemctl status nginx; nginx -t && systemctl reload-or-restart nginx; ss -ltnp")
    }

    /// What is wrong with the certificate that nginx presents, as long as the check of its file does not say so too; and
    /// whether a client that knows its authority would go on.
    private func judge(_ served: ServedCertificate, _ door: Door) -> (diagnoses: [Diagnosis], isUsable: Bool) {
        let file = door.certificateFile.flatMap { try? TextFile.read($0) }.map { String(decoding: $0, as: UTF8.self) }
        let isInFile = file.flatMap { try? Certificate(pem: $0).fingerprint }
        let secondsLeft: Int64
        let isForName: Bool
        let fingerprint: [UInt8]
        do throws(CryptoError) {
            let certificate = try Certificate(pem: served.pem)
            (secondsLeft, isForName) = (certificate.secondsLeft, certificate.isFor(host: door.name))
            fingerprint = certificate.fingerprint
        } catch {
            let note = Diagnosis(
                .frontDoorUnread, "nginx presents no readable certificate for \(door.name)", fix: "nginx -t")
            return ([note], false)
        }
        let isFile = fingerprint == isInFile
        if secondsLeft < 0 {
            // Then the file has expired, and nobody has to be told twice.
            if isFile { return ([], false) }
            let finding = Diagnosis(
                .expiredCertificateServed, "nginx presents a certificate for \(door.name) that has expired",
                fix: "systemctl reload nginx loads what is in its file; certbot needs --deploy-hook 'systemctl reload "
                    + "nginx'")
            return ([finding], false)
        }
        var diagnoses: [Diagnosis] = []
        if !isFile, let path = door.certificateFile, isInFile != nil {
            diagnoses.append(
                Diagnosis(
                    .certificateNotLoaded, "nginx presents another certificate for \(door.name) than that in \(path)",
                    fix: "systemctl reload nginx; certbot needs --deploy-hook 'systemctl reload nginx'"))
        }
        if !isForName, !isFile {
            diagnoses.append(CertificateCheck.otherName("the certificate that nginx presents", door.name))
        }
        if let distrust = served.distrust {
            diagnoses.append(
                Diagnosis(
                    .certificateUntrusted,
                    "this machine does not trust nginx's certificate for \(door.name): \(distrust)",
                    fix:
                        "ssl_certificate has to name a file with the intermediate certificates (certbot: fullchain.pem); "
                        + "with an authority of your own: --ca-file FILE"))
        }
        return (diagnoses, isForName)
    }

    private func judge(_ reply: Result<Reply, NoReply>, _ door: Door) -> Diagnosis {
        switch reply {
        case .success(let reply) where reply.status >= 500:
            Diagnosis(
                .frontDoorUnhealthy, "nginx answers \(reply.status) to HealthCheck for \(door.name)",
                fix: "502, 504: systemctl status 'syncd-*'; 503: systemctl status mariadb; journalctl -u 'syncd-*' -p "
                    + "warning")
        case .success(let reply) where !reply.isOurs || reply.status != 200:
            Diagnosis(
                .otherServerAnswers,
                "at \(door.address), nginx answers for \(door.name) with something else than this server (status "
                    + "\(reply.status))",
                fix: "nginx -t && systemctl reload nginx loads the site; nginx -T shows which server block has the name"
            )
        case .success: .good("frontDoor", "the server answers at \(door.address) as \(door.name)")
        case .failure(let error) where error.isCertificate:
            Diagnosis(
                .certificateUntrusted, "a connection to \(door.name) is not trusted: \(error.sentence)",
                fix: "with an authority of your own: --ca-file FILE")
        case .failure(let error): closed(door, error.sentence)
        }
    }
}
