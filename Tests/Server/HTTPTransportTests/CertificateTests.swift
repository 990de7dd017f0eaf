import Curl
import Testing

@testable import HTTPTransport

@Suite("A provider's certificate that does not verify")
struct CertificateTests {
    @Test("One that has expired is called so")
    func expired() {
        let reasons = ["SSL certificate problem: certificate has expired", "SSL certificate problem: self-signed"]
            .map { TransportError(CurlError.tls(code: 60, message: $0)) }

        #expect(
            reasons == [
                .refused("TLS: the provider's certificate has expired"),
                .refused("TLS: the provider's certificate does not verify"),
            ])
    }
}
