import Configuration
import Curl
import MariaDB
import Operations
import Posix

extension SetupHost {
    private static let healthTime: Duration = .seconds(30)
    private static let httpsPort = 443
    /// The port for this host's own checks behind a load balancer, from the site's template.
    private static let ownPort = 9181

    func perform(_ check: SetupPlan.Check, _ answers: SetupAnswers) throws -> String? {
        switch check {
        case .configuration:
            let notes = try configuration().notes
            return notes.isEmpty ? nil : notes.map(\.description).joined(separator: "\n")
        case .database:
            let settings = try configuration().database
            do {
                var connection = try Connection(settings)
                try connection.execute("DO 1")
            } catch {
                throw SetupFailure("\(settings): \(Self.detail(of: error))")
            }
            return nil
        case .nginx:
            guard root.isEmpty else { throw NoRunningSystem() }
            let outcome = try ChildProcess.run(["nginx", "-t", "-q"])
            guard outcome.status == 0 else { throw SetupFailure(outcome.output) }
            return outcome.output.isEmpty ? nil : outcome.output
        case .monitoring: return try checkMonitoring()
        case .health: return try checkHealth(answers)
        }
    }

    /// Polls until the metrics page of all processes answers.
    private func checkMonitoring() throws -> String? {
        guard isRunning else { throw NoRunningSystem() }
        CurlLibrary.initialize()
        try poll {
            do throws(CurlError) {
                var handle = try EasyHandle(allowsPlainHTTP: true)
                return Self.problem(try handle.perform(Request(url: SetupPaths.metricsURL)))
            } catch {
                return String(reflecting: error)
            }
        }
        return nil
    }

    /// Polls until a responder answers, using the host's name and this machine's address.
    private func checkHealth(_ answers: SetupAnswers) throws -> String? {
        guard isRunning else { throw NoRunningSystem() }
        CurlLibrary.initialize()
        var isTrusted = true
        try poll {
            do throws(CurlError) { return Self.problem(try health(answers, caFile: nil)) } catch .tls {
                isTrusted = false
                return nil
            } catch {
                return String(reflecting: error)
            }
        }
        return isTrusted ? nil : try checkHealthByOwnCertificate(answers)
    }

    /// Repeats `ask` until it returns no problem.
    private func poll(_ ask: () -> String?) throws(SetupFailure) {
        let deadline = ContinuousClock.now + Self.healthTime
        while let problem = ask() {
            guard ContinuousClock.now < deadline else { throw SetupFailure(problem) }
            Pause.sleep(.milliseconds(500))
        }
    }

    private static func problem(_ response: Response) -> String? {
        response.status == 200 ? nil : "status \(response.status)"
    }

    /// A certificate that this host does not trust may still be valid: a private authority may have issued it.
    private func checkHealthByOwnCertificate(_ answers: SetupAnswers) throws -> String? {
        let file = SiteText.files(of: answers.certificate, host: answers.host).certificate
        let examined = CertificateCheck.examine(NginxSite.Certificate(certificate: file, key: nil), names: [])
        if let fault = examined.first(where: { $0.verdict == .bad }) { throw SetupFailure(fault.finding) }
        let status: Int
        do { status = try health(answers, caFile: file).status } catch {
            throw SetupFailure(
                "the certificate is not for \(answers.host), or from an authority that this host does not trust: "
                    + String(reflecting: error))
        }
        guard status == 200 else { throw SetupFailure("status \(status)") }
        return "it answers with a certificate that this host does not trust; phones may not trust it either"
    }

    private func health(_ answers: SetupAnswers, caFile: String?) throws(CurlError) -> Response {
        // On the other port, nginx then expects the PROXY protocol.
        let port = answers.balancers?.isEmpty == false ? Self.ownPort : Self.httpsPort
        var handle = try EasyHandle(routing: Routing(connectTo: "127.0.0.1:\(port)", caFile: caFile))
        return try handle.perform(Request(url: "https://\(answers.host)/HealthCheck"))
    }
}
