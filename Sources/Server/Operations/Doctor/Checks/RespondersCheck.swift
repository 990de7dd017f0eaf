import Posix

/// Asks the responders behind a socket for their health, as nginx would.
public enum RespondersCheck {
    /// - Parameters:
    ///   - check: `apiSocket` or `transferSocket`.
    ///   - user: the user that nginx's processes run as.
    public static func examine(
        _ check: String, _ path: String, asUser user: String?, within limit: Duration
    ) -> [Diagnosis] {
        let status: Int?
        do throws(PosixError) { status = try ResponderProbe.healthStatus(at: path, within: limit) } catch {
            if error.isDenial {
                return [
                    Diagnosis(
                        .notPermitted, "\(path) cannot be checked, because only nginx may connect to it",
                        fix: "run as root",
                        check: check)
                ]
            }
            return [
                Diagnosis(
                    .responderSilent, "no responder answers at \(path): \(error)",
                    fix: error.isAbsence
                        ? "systemctl restart syncd-\(role(check)).socket recreates the socket"
                        : "systemctl restart 'syncd-\(role(check))@*'; journalctl -u 'syncd-\(role(check))@*' -n 50",
                    check: check)
            ]
        }
        switch status {
        case 200?:
            if let user, !may(user, "-w", path, within: limit) {
                let folder = obstacle(on: path) { may(user, "-x", $0, within: limit) }
                let what = folder.map { ": it may not enter \($0)" } ?? ""
                return [
                    Diagnosis(
                        .socketDenied,
                        "a responder answers at \(path), but nginx, as \(user), may not connect to it\(what)",
                        fix: folder.map { "chmod a+x \($0)" }
                            ?? "systemctl restart syncd-\(role(check)).socket recreates the socket, for \(user) if "
                            + "SocketUser= names it (systemctl cat syncd-\(role(check)).socket)",
                        check: check)
                ]
            }
            return [.good(check, "a responder answers at \(path)")]
        case 503?:
            return [
                Diagnosis(
                    .responderUnhealthy, "the responder at \(path) cannot use the database",
                    fix: "journalctl -u 'syncd-*' -p warning", check: check)
            ]
        case let status:
            return [
                Diagnosis(
                    .responderUnhealthy,
                    "the reply at \(path) is not from a healthy syncd (\(status.map(String.init) ?? "no status"))",
                    fix: "systemctl status 'syncd-*'", check: check)
            ]
        }
    }

    private static func role(_ check: String) -> String { check == "apiSocket" ? "api" : "transfer" }

    /// The first folder on the path to a file that the user may not enter (path_resolution(7)).
    static func obstacle(on path: String, mayEnter: (String) -> Bool) -> String? {
        let slashes = path.indices.filter { path[$0] == "/" }
        return slashes.map { $0 == path.startIndex ? "/" : String(path[..<$0]) }.first { !mayEnter($0) }
    }

    /// Whether a user has a right (test(1)), such as `-w` to a socket, which connecting requires (unix(7)); also `true`
    /// if that cannot be determined.
    private static func may(_ user: String, _ right: String, _ path: String, within limit: Duration) -> Bool {
        guard Terminal.isRoot, UserAccount(user) != nil else { return true }
        do throws(PosixError) {
            return try ChildProcess.run(["runuser", "-u", user, "--", "test", right, path], within: limit).status != 1
        } catch {
            return true
        }
    }
}
