import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
import Testing

@testable import Providers

/// Amazon's published test suite for Signature Version 4, and the worked example from its documentation.
@Suite("Signature Version 4")
struct SignatureV4Tests {
    private static func signature(service: String) -> SignatureV4 {
        SignatureV4(
            accessKeyID: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1",
            service: service)
    }

    private static let time = "20150830T123600Z"

    struct Vector: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var method: String
        var query: [(name: String, value: String)] = []
        var contentType: String?
        var body = ""
        var signature: String
    }

    static let vectors = [
        Vector(
            testDescription: "get-vanilla", method: "GET",
            signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        Vector(
            testDescription: "get-vanilla-query-order-key-case", method: "GET",
            query: [(name: "Param2", value: "value2"), (name: "Param1", value: "value1")],
            signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        Vector(
            testDescription: "post-vanilla", method: "POST",
            signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        Vector(
            testDescription: "post-x-www-form-urlencoded", method: "POST",
            contentType: "application/x-www-form-urlencoded", body: "Param1=value1",
            signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
    ]

    @Test("The published vectors yield the published signatures", arguments: vectors)
    func published(vector: Vector) {
        var headers = [(name: "Host", value: "example.amazonaws.com"), (name: "X-Amz-Date", value: Self.time)]
        if let type = vector.contentType { headers.append((name: "Content-Type", value: type)) }
        let names = vector.contentType == nil ? "host;x-amz-date" : "content-type;host;x-amz-date"

        let authorization = Self.signature(service: "service").authorization(
            method: vector.method, path: "/", query: SignatureV4.canonicalQuery(vector.query),
            headers: headers, payloadHash: SignatureV4.payloadHash(of: vector.body.utf8), at: Self.time)

        #expect(
            authorization
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=\(names), Signature=\(vector.signature)")
    }

    @Test("Spaces around a header's value and repeated spaces within it are ignored: get-header-value-trim")
    func blanks() {
        let authorization = Self.signature(service: "service").authorization(
            method: "GET", path: "/",
            headers: [
                (name: "Host", value: "example.amazonaws.com"), (name: "My-Header1", value: " value1 "),
                (name: "My-Header2", value: #" "a   b   c" "#), (name: "X-Amz-Date", value: Self.time),
            ], payloadHash: SignatureV4.payloadHash(of: []), at: Self.time)

        #expect(authorization.hasSuffix("acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"))
    }

    @Test("The documentation's example yields its key and its signature")
    func documented() {
        let signature = Self.signature(service: "iam")
        #expect(
            signature.signingKey(on: "20150830").hexLowercase
                == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9")
        let authorization = signature.authorization(
            method: "GET", path: "/",
            query: SignatureV4.canonicalQuery([
                (name: "Action", value: "ListUsers"), (name: "Version", value: "2010-05-08"),
            ]),
            headers: [
                (name: "Content-Type", value: "application/x-www-form-urlencoded; charset=utf-8"),
                (name: "Host", value: "iam.amazonaws.com"), (name: "X-Amz-Date", value: Self.time),
            ], payloadHash: SignatureV4.payloadHash(of: []), at: Self.time)
        #expect(
            authorization.hasSuffix("5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"),
            "\(authorization)"
        )
    }

    /// The signature of botocore 1.43.11 (`botocore.auth.S3SigV4Auth`) at that time with that key for `eu-central-1`.
    @Test(
        "Requests to S3 are signed as botocore signs them",
        arguments: [
            (
                "GET", "https://s3.example.com/photos/alice/a.jpg", false,
                "ae607011e7560a15e0a6599514dd3de49f91419b0eddec3839dfcdc64a75e0b7"
            ),
            (
                "GET", "https://s3.example.com:9000/photos/Zo%C3%AB%20%26%20co/it%27s.txt", false,
                "c1bb8483f7f4edffc1bc9b08a346126290d70eaffa66b2791bfb91207a700d52"
            ),
            (
                "GET", "https://s3.example.com/photos/?delimiter=%2F&list-type=2&prefix=alice%2F", false,
                "87555bbd01f05212db8afa46bf5f624ea42bf848730d797ff57fbedc153878a9"
            ),
            (
                "POST", "https://photos.s3.eu-central-1.amazonaws.com/a.jpg?uploads=", true,
                "9f9bb4fb51c628c27b4ebdfba987b02fb21494ba975efb6f7fe2b798e4f4d9ef"
            ),
            (
                "PUT", "https://s3.example.com/photos/a.jpg", true,
                "63426f46f2da835356b73fbb70d37f7ca6be91541e94c49e5803629595a23c25"
            ),
        ])
    func s3(method: String, url: String, hasObjectHeaders: Bool, signature: String) throws {
        let payloadHash =
            method == "PUT" ? SignatureV4.unsignedPayload : SignatureV4.payloadHash(of: [])
        var request = OutgoingRequest(.s3, .upload, try #require(HTTPRequest.Method(method)), url)
        request.headers[.amzContentSHA256] = payloadHash
        if hasObjectHeaders {
            request.headers[.contentType] = "image/jpeg"
            request.headers[.amzMetaMD5] = "5d41402abc4b2a76b9719d911017c592"
            // Not signed.
            request.headers[.ifNoneMatch] = "*"
        }
        var signer = Self.signature(service: "s3")
        signer.region = "eu-central-1"

        signer.sign(&request, payloadHash: payloadHash, at: 1_440_938_160)

        #expect(request.headers[.authorization]?.hasSuffix("Signature=" + signature) == true)
    }

    @Test("Times are formatted as Amazon requires")
    func time() { #expect(SignatureV4.time(1_440_938_160) == Self.time) }
}
