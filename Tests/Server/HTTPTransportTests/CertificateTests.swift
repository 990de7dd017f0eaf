import Curl
import Testing

@testable import HTTPTransport

@Suite("Provider certificates that fail verification")
struct CertificateTests {
    @Test("An expired certificate is reported as expired")
    func expired() {
        let reasons = ["SSL certificate problem: certificate has expired", "SSL certificate problem: self-signed"]
            .map { TransportError(CurlError.tls(code: 60, message: $0)) }

        #expect(
            reasons == [
                .refused("TLS: the provider's certificate has expired"),
                .refused("TLS: the provider's certificate cannot be verified"),
            ])
    }
}
