import OpenSSLCrypto
import Posix

/// Examines the files of a certificate and its key, as nginx would load them now.
public enum CertificateCheck {
    /// Let's Encrypt's clients renew 30 days before expiry.
    static let warningDays: Int64 = 21

    /// - Parameter names: the hosts that it is used for.
    public static func examine(_ files: NginxSite.Certificate, names: [String]) -> [Diagnosis] {
        do {
            let text = String(decoding: try TextFile.read(files.certificate), as: UTF8.self)
            let certificate = try Certificate(pem: text)
            return [validity(files.certificate, secondsLeft: certificate.secondsLeft)] + trial(files.certificate)
                + names.filter { !certificate.isFor(host: $0) }.map { otherName(files.certificate, $0) }
                + (files.key.map { examine(key: $0, of: certificate, files.certificate) } ?? [])
        } catch {
            return [unreadable(files.certificate, error)]
        }
    }

    private static func examine(
        key path: String, of certificate: borrowing Certificate, _ certificatePath: String
    ) -> [Diagnosis] {
        do {
            let text = String(decoding: try TextFile.read(path), as: UTF8.self)
            if try certificate.fits(keyPEM: text) { return [] }
        } catch {
            return [unreadable(path, error)]
        }
        return [
            Diagnosis(
                .keyMismatch, "the key \(path) does not belong to \(certificatePath)",
                fix: "use the certificate and the key with which it was requested (certbot: both from one folder of "
                    + "/etc/letsencrypt/live); nginx -t")
        ]
    }

    private static func isOfTrial(_ path: String) -> Bool { path.contains(SetupPaths.authorities + "/") }

    private static func trial(_ path: String) -> [Diagnosis] {
        guard isOfTrial(path) else { return [] }
        return [
            Diagnosis(
                .certificateOfTrial, "\(path) is from this host's own authority, for a trial",
                fix: "syncctl authority show explains how phones trust it; for real users: syncctl setup --certbot")
        ]
    }

    static func validity(_ path: String, secondsLeft: Int64) -> Diagnosis {
        let renewal =
            isOfTrial(path) ? "syncctl authority renew; systemctl enable --now \(SetupPaths.authorityTimer)" : nil
        if secondsLeft < 0 {
            return Diagnosis(
                .certificateExpired, "\(path) has expired", fix: renewal ?? "certbot renew && systemctl reload nginx")
        }
        let days = secondsLeft / 86_400
        if days < warningDays {
            return Diagnosis(
                .certificateExpiring,
                "\(path) expires in \(Quantity.seconds(secondsLeft)), and should have been renewed",
                fix: renewal ?? "certbot renew --dry-run shows the reason")
        }
        return .good("certificate", "\(path) is valid for \(days) days")
    }

    static func otherName(_ path: String, _ name: String) -> Diagnosis {
        Diagnosis(
            .certificateForOtherName, "\(path) is not for \(name)",
            fix: "certbot certonly --webroot --webroot-path /var/www/html --domain \(name), and ssl_certificate and "
                + "ssl_certificate_key in nginx's site")
    }

    private static func unreadable(_ path: String, _ error: any Error) -> Diagnosis {
        if let error = error as? PosixError, error.isDenial {
            return Diagnosis(
                .notPermitted, "\(path) cannot be read: \(error)", fix: "run as root", check: "certificate")
        }
        let reason = error is CryptoError ? "not in PEM, or encrypted" : "\(error)"
        return Diagnosis(
            .certificateUnreadable, "\(path) cannot be used: \(reason)",
            fix: "correct ssl_certificate and ssl_certificate_key in nginx's site; nginx -t")
    }
}
