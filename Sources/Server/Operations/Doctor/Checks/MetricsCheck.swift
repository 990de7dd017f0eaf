import SyncProtocol

/// Looks at the metrics page as monitoring does: whether it answers, and whether each role counts.
public enum MetricsCheck {
    /// The page's status and text, or why there is none.
    public typealias Page = @Sendable () -> Result<(status: Int, text: String), FrontDoorCheck.NoReply>

    /// - Parameter url: of the page.
    public static func examine(_ url: String, _ page: Page) -> [Diagnosis] {
        switch page() {
        case .failure(let reason): [unanswered(url, reason.sentence)]
        case .success(let reply) where reply.status != 200: [unanswered(url, "status \(reply.status)")]
        case .success(let reply): judge(url, reply.text)
        }
    }

    private static func unanswered(_ url: String, _ reason: String) -> Diagnosis {
        Diagnosis(
            .metricsUnanswered, "the metrics page \(url) does not answer: \(reason); no alarm is raised for this host",
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
        guard !counted.isEmpty else { return [unanswered(url, "what answers there is not this server")] }
        let missing = ServerRole.allCases.filter { counted[$0.rawValue] ?? 0 == 0 }
        guard !missing.isEmpty else { return [.good("metrics", "the processes of each role count for the metrics")] }
        return missing.map { role in
            Diagnosis(
                .countersMissing,
                "no process of the role \(role.rawValue) counts for the metrics: none runs, or it could not make its counters",
                fix:
                    "systemctl start syncd.target; journalctl -u 'syncd-\(role.rawValue)@*' -p warning; systemctl restart "
                    + "'syncd-\(role.rawValue)@*' once there is room in metrics.directory", about: role.rawValue)
        }
    }
}
