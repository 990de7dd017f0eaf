import OpenSSLCrypto
import Posix

/// The certificate that a server presents, obtained with openssl-s_client(1), which continues where a client would give
/// up.
struct ServedCertificate {
    enum Failure: Error, Equatable {
        /// Connections are not accepted.
        case closed(String)
        /// No reply came in time, because of the server or because this host is busy.
        case silent
        /// It could not be requested.
        case unknown(String)
    }

    /// In PEM.
    let pem: String
    /// Why this host does not trust it, in OpenSSL's words; `nil` if it does. The host name is not checked.
    let distrust: String?

    /// - Parameters:
    ///   - address: host and port.
    ///   - name: the server's name (RFC 6066, section 3).
    ///   - authorities: a PEM file of authorities to trust instead of the system's.
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
            // s_client(1) prints the system call's error on a separate line.
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
        // "Verify return code: 18 (self-signed certificate)"; 0 means trusted.
        let verdict = output.split(separator: "\n").first { $0.contains("Verify return code: ") }
        let text = verdict?.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? ""
        distrust = text.hasPrefix("0 ") ? nil : text.split(separator: "(").last.map { String($0.dropLast()) } ?? text
    }
}
