import SyncProtocol

/// Request headers about the identity above an account.
enum IdentityHeaders {
    static let grant: [RequestHeader: String] = [.deviceGrant: "The grant that the device has; it gets no other one."]
}

extension RevokeDeviceGrantsRequest: DescribedRequest {
    static let description = EndpointDescription(
        summary: "Revokes the grants of one of the caller's devices, or of all but the calling one.",
        reply: Schemas.empty)
}
