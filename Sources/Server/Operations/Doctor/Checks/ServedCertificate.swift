import OpenSSLCrypto
import Posix

/// The certificate that a server presents to whoever connects, asked for with openssl-s_client(1), which goes on where a
/// client would give up.
struct ServedCertificate {
    enum Failure: Error, Equatable {
        /// Nothing accepts connections there.
        case closed(String)
        /// Nothing came in time: of the server, or because this host is busy.
        case silent
        /// It could not be asked for.
        case unknown(String)
    }

    /// In PEM.
    let pem: String
    /// Why this machine does not trust it, in OpenSSL's words; `nil` if it does. Its host's name is not considered.
    let distrust: String?

    /// - Parameters:
    ///   - address: host and port.
    ///   - name: the server's name (RFC 6066, section 3).
    ///   - authorities: a PEM file of authorities to trust instead of those of the system.
    static func ask(
        _ address: String, name: String, authorities: String?, within limit: Duration
    ) throws(Failure) -> ServedCertificate {
        var arguments = ["openssl", "s_client", "-connect", address, "-servername", name]
        if let authorities { arguments += ["-CAfile", authorities] }
        let outcome: ChildProcess.Outcome
        do throws(PosixError) { outcome = try ChildProcess.run(arguments, within: limit) } catch {
            // ETIMEDOUT, which ChildProcess.run throws after its limit, in the system's words.
            if error.description.hasSuffix("timed out") { throw .silent }
            throw error.isAbsence ? .unknown("the program openssl is not installed") : .closed("\(error)")
        }
        guard let found = ServedCertificate(output: outcome.output) else {
            let lines = outcome.output.split(separator: "\n")
            // s_client(1) shows the error of the system call in a line of its own.
            let line = lines.last { $0.contains("errno") || $0.contains("error") } ?? lines.first ?? "no reply"
            throw .closed(String(line))
        }
        return found
    }

    /// Reads what the program prints; `nil` without a certificate.
    init?(output: String) {
        guard let begin = output.firstRange(of: "-----BEGIN CERTIFICATE-----"),
            let end = output.firstRange(of: "-----END CERTIFICATE-----"), begin.lowerBound < end.lowerBound
        else { return nil }
        pem = String(output[begin.lowerBound..<end.upperBound]) + "\n"
        // "Verify return code: 18 (self-signed certificate)", with 0 for none.
        let verdict = output.split(separator: "\n").first { $0.contains("Verify return code: ") }
        let text = verdict?.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? ""
        distrust = text.hasPrefix("0 ") ? nil : text.split(separator: "(").last.map { String($0.dropLast()) } ?? text
    }
}
