import OpenSSLCrypto
import Posix

/// How long the certificates are valid that nginx's site names, in their files.
public struct CertificateFigures: Equatable, Sendable, Encodable {
    public struct Validity: Equatable, Sendable, Encodable {
        public var path: String
        /// Rounded down; negative once it has expired.
        public var daysLeft: Int
    }

    /// By path.
    public var validities: [Validity] = []
    /// Why others could not be read.
    public var unread: [String] = []

    /// - Parameter paths: of files in PEM; may repeat.
    public init(paths: [String]) {
        for path in Set(paths).sorted() {
            do {
                let certificate = try Certificate(pem: String(decoding: try TextFile.read(path), as: UTF8.self))
                let days = (Double(certificate.secondsLeft) / 86_400).rounded(.down)
                validities.append(Validity(path: path, daysLeft: Int(days)))
            } catch {
                unread.append("\(path): \(error is CryptoError ? "not in PEM" : "\(error)")")
            }
        }
    }
}
