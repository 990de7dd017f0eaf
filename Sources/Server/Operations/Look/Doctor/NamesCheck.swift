import Posix

/// Looks up names, in DNS and this host's other sources.
public enum NamesCheck {
    /// The server's own name, which must resolve to this host.
    public static func own(_ name: String, within limit: Duration) -> [Diagnosis] {
        // It is this host by definition, even without a line in /etc/hosts (RFC 6761, section 6.3).
        if name == "localhost" { return [.good("dns", "\(name) is this host")] }
        return [judge(name, addresses: addresses(of: name, within: limit), own: HostFacts.ownAddresses())]
    }

    static func judge(_ name: String, addresses: [String], own: [String]) -> Diagnosis {
        guard !addresses.isEmpty else {
            return Diagnosis(
                .nameUnresolved, "\(name) has no address",
                fix: "create an A (and AAAA) record for \(name) with this host's address; getent ahosts \(name)")
        }
        if addresses.contains(where: own.contains) { return .good("dns", "\(name) resolves to this host") }
        return Diagnosis(
            .nameElsewhere,
            "\(name) resolves to \(Set(addresses).sorted().joined(separator: ", ")), which is not an address of this "
                + "host: correct only behind a load balancer or NAT", fix: nil)
    }

    /// The addresses of a name; empty if they are not found in time.
    static func addresses(of name: String, within limit: Duration) -> [String] {
        addresses(of: [name], within: limit)[name] ?? []
    }

    /// The addresses of names, looked up in parallel; names that are not found in time have none.
    public static func addresses(of names: Set<String>, within limit: Duration) -> [String: [String]] {
        addresses(of: names, within: limit, HostFacts.addresses)
    }

    static func addresses(
        of names: Set<String>, within limit: Duration, _ find: @escaping @Sendable (String) -> [String]
    ) -> [String: [String]] {
        let lookups = names.map { name in
            (name, HostCheck.start(HostCheck(name) { find(name).map { .good("dns", $0) } }))
        }
        let end = HostCheck.deadline(limit)
        return Dictionary(
            uniqueKeysWithValues: lookups.map { name, found in (name, found(end)?.map(\.finding) ?? []) })
    }

    /// The subject of a finding about all names.
    static let all = "all"

    /// The hosts that the server connects to, looked up in parallel. A host that is not found in time counts as
    /// unresolved: a connection to it would not wait longer either.
    public static func remote(_ hosts: [String], within limit: Duration) -> [Diagnosis] {
        let checks = hosts.map { host in HostCheck(host) { HostFacts.addresses(of: host).isEmpty ? [] : [found(host)] }
        }
        let results = checks.map { check in (check.subject, HostCheck.start(check)) }
        let end = HostCheck.deadline(limit)
        let missing = results.filter { $0.1(end)?.isEmpty ?? true }.map(\.0)
        return judge(hosts, missing: missing, servers: nameServers)
    }

    private static func found(_ host: String) -> Diagnosis { .good("dns", "\(host) has an address") }

    static func judge(_ hosts: [String], missing: [String], servers: [String]) -> [Diagnosis] {
        // A single name may have been removed; if several fail, the name server is the cause.
        guard missing.count == hosts.count, hosts.count > 1 else {
            return hosts.map { host in
                guard missing.contains(host) else { return found(host) }
                return Diagnosis(
                    .hostUnresolved, "\(host) has no address",
                    fix: "getent ahosts \(host); if no name resolves: check the name servers in /etc/resolv.conf")
            }
        }
        let asked = servers.isEmpty ? "/etc/resolv.conf names no server" : "asked: \(servers.joined(separator: ", "))"
        return [
            Diagnosis(
                .hostUnresolved,
                "no name has an address: this host's name servers do not answer, or it is offline (\(asked); tried: "
                    + "\(hosts.joined(separator: ", ")))",
                fix: "resolvectl status, or a line in /etc/resolv.conf such as nameserver 9.9.9.9, or your provider's; "
                    + "getent ahosts \(hosts[0]) tests it; ip route shows whether there is a route", about: all)
        ]
    }

    /// The servers in resolv.conf(5).
    private static var nameServers: [String] {
        let text = (try? TextFile.read("/etc/resolv.conf")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.count > 1 && words[0] == "nameserver" ? String(words[1]) : nil
        }
    }
}
