import OpenSSLCrypto
import Posix

/// The validity of the certificate files that nginx's site names.
public struct CertificateFigures: Equatable, Sendable, Encodable {
    public struct Validity: Equatable, Sendable, Encodable {
        public var path: String
        /// Rounded down; negative after expiry.
        public var daysLeft: Int
    }

    /// By path.
    public var validities: [Validity] = []
    /// Why other files could not be read.
    public var unread: [String] = []

    /// - Parameter paths: paths of PEM files; can contain duplicates.
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
