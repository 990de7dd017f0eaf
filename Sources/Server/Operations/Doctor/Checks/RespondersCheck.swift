import Posix

/// Asks the responders behind a socket for their health, as nginx would.
public enum RespondersCheck {
    /// - Parameter check: `apiSocket` or `transferSocket`.
    public static func examine(_ check: String, _ path: String, within limit: Duration) -> [Diagnosis] {
        let status: Int?
        do throws(PosixError) { status = try ResponderProbe.healthStatus(at: path, within: limit) } catch {
            if error.isDenial {
                return [
                    Diagnosis(
                        .notPermitted, "\(path) cannot be asked, since only nginx may connect to it",
                        fix: "run as root",
                        check: check)
                ]
            }
            return [
                Diagnosis(
                    .responderSilent, "nobody answers at \(path): \(error)",
                    fix: "systemctl status syncd.target 'syncd-*'", check: check)
            ]
        }
        switch status {
        case 200?: return [.good(check, "a responder answers at \(path)")]
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
                    "what answers at \(path) is no healthy syncd (\(status.map(String.init) ?? "no status"))",
                    fix: "systemctl status 'syncd-*'", check: check)
            ]
        }
    }
}
