import Testing

@testable import Providers

@Suite("Classification of SNS errors")
struct SNSFailureTests {
    private func failure(_ code: String, status: Int = 400, _ message: String = "") -> SNSFailure {
        SNSFailure(status: status, code: code, message: message, retryAfter: .seconds(7))
    }

    @Test("Only one error means that a device is already registered")
    func existingEndpoint() {
        let message =
            "Invalid parameter: Token Reason: Endpoint arn:aws:sns:us-west-2:1:endpoint/APNS/app/1 already exists with "
            + "the same Token, but different attributes."

        #expect(
            failure("InvalidParameter", message).existingEndpointARN == "arn:aws:sns:us-west-2:1:endpoint/APNS/app/1")
        #expect(failure("AuthorizationError", message).existingEndpointARN == nil)
        #expect(failure("InvalidParameter", "Invalid parameter: Token").existingEndpointARN == nil)
    }

    @Test("Codes are classified as Amazon documents, and other errors by status")
    func codes() {
        for code in ["EndpointDisabled", "NotFound", "NotFoundException"] {
            #expect(failure(code).pushError == .gone(since: nil))
        }
        for code in ["Throttled", "Throttling", "ThrottlingException", "KMSThrottling"] {
            #expect(failure(code).pushError == .rateLimited(retryAfter: .seconds(7)))
        }
        #expect(failure("InvalidParameter").pushError == .rejected(detail: "InvalidParameter"))
        #expect(failure("", status: 429).pushError == .rateLimited(retryAfter: .seconds(7)))
        #expect(failure("", status: 503).pushError == .unavailable(detail: "status 503 no reason"))
        #expect(
            failure("AuthorizationError", status: 403).pushError
                == .misconfigured(detail: "status 403 AuthorizationError"))
    }
}
