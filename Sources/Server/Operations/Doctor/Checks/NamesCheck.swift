import Posix

/// Looks up names, in DNS and wherever else this host does.
public enum NamesCheck {
    /// The server's own name, which has to lead to this host.
    public static func own(_ name: String) -> [Diagnosis] {
        // It is this machine by definition, whether or not it is in /etc/hosts (RFC 6761, section 6.3).
        if name == "localhost" { return [.good("dns", "\(name) is this host")] }
        return [judge(name, addresses: HostFacts.addresses(of: name), own: HostFacts.ownAddresses())]
    }

    static func judge(_ name: String, addresses: [String], own: [String]) -> Diagnosis {
        guard !addresses.isEmpty else {
            return Diagnosis(
                .nameUnresolved, "\(name) has no address",
                fix: "an A (and AAAA) record for \(name) with this host's address; getent ahosts \(name)")
        }
        if addresses.contains(where: own.contains) { return .good("dns", "\(name) leads to this host") }
        return Diagnosis(
            .nameElsewhere,
            "\(name) leads to \(Set(addresses).sorted().joined(separator: ", ")), none of which is on an "
                + "interface here: fine behind a load balancer or NAT", fix: nil)
    }

    /// A host that the server connects to.
    public static func remote(_ host: String) -> [Diagnosis] {
        guard HostFacts.addresses(of: host).isEmpty else { return [.good("dns", "\(host) has an address")] }
        return [
            Diagnosis(
                .hostUnresolved, "\(host) has no address",
                fix: "getent ahosts \(host); if no name has one: the name servers in /etc/resolv.conf")
        ]
    }
}
