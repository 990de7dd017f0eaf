import SyncProtocol

/// Reads the metrics page as monitoring does: checks that it answers, and that it includes each role.
public enum MetricsCheck {
    /// The page's status and text, or the reason for their absence.
    public typealias Page = @Sendable () -> Result<(status: Int, text: String), FrontDoorCheck.NoReply>

    /// - Parameter url: the page's URL.
    public static func examine(_ url: String, _ page: Page) -> [Diagnosis] {
        switch page() {
        case .failure(let reason): [unanswered(url, reason.sentence)]
        case .success(let reply) where reply.status != 200: [unanswered(url, "status \(reply.status)")]
        case .success(let reply): judge(url, reply.text)
        }
    }

    private static func unanswered(_ url: String, _ reason: String) -> Diagnosis {
        Diagnosis(
            .metricsUnanswered,
            "the metrics page \(url) does not answer: \(reason); monitoring raises no alarms for this host",
            fix: "syncctl setup adds it to nginx's site; --metrics URL if it is elsewhere; systemctl reload nginx")
    }

    /// - Parameter text: in the Prometheus text format.
    static func judge(_ url: String, _ text: String) -> [Diagnosis] {
        let counted = text.split(separator: "\n").reduce(into: [String: Int]()) { counted, line in
            // syncd_processes{role="api"} 2; of an added app, app="notes" comes before the role.
            guard line.hasPrefix("syncd_processes{"), let number = line.split(separator: " ").last,
                let role = line.firstRange(of: "role=\"")
            else { return }
            counted[String(line[role.upperBound...].prefix { $0 != "\"" })] = Int(number)
        }
        guard !counted.isEmpty else { return [unanswered(url, "the reply is not from this server")] }
        let missing = ServerRole.allCases.filter { counted[$0.rawValue] ?? 0 == 0 }
        guard !missing.isEmpty else { return [.good("metrics", "the metrics include processes of each role")] }
        return missing.map { role in
            Diagnosis(
                .countersMissing,
                "the metrics include no process of the role \(role.rawValue): none is running, or it could not create "
                    + "its counters",
                fix:
                    "systemctl start syncd.target; journalctl -u 'syncd-\(role.rawValue)@*' -p warning; systemctl "
                    + "restart "
                    + "'syncd-\(role.rawValue)@*' once metrics.directory has free space", about: role.rawValue)
        }
    }
}
