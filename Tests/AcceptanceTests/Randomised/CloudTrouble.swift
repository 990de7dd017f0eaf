import SyncModel
import TestSupport

/// A fault at every kind of storage; it affects only the next matching request.
struct CloudTrouble {
    /// The faults to inject, one for each possible provider of the owner.
    let faults: [SandboxFault]
    /// The fault, for the list of operations.
    let description: String
    /// Whether the request may fail; otherwise the server must handle the fault.
    let mayFail: Bool

    /// The addresses where each provider receives and sends file contents, and nothing else.
    private static let places: [Provider: (upload: SandboxFault, download: SandboxFault)] = [
        .google: (
            SandboxFault(host: "www.googleapis.com", pathPrefix: "/upload/drive/v3/files"),
            SandboxFault(host: "www.googleapis.com", pathPrefix: "/drive/v3/files/", method: "GET")
        ),
        .dropbox: (
            SandboxFault(host: "content.dropboxapi.com", pathPrefix: "/2/files/upload"),
            SandboxFault(host: "content.dropboxapi.com", pathPrefix: "/2/files/download")
        ),
        .microsoft: (
            SandboxFault(
                host: "graph.microsoft.com", pathPrefix: "/v1.0/me/drive/special/approot:/", method: "PUT"),
            SandboxFault(host: "graph.microsoft.com", pathPrefix: "/v1.0/me/drive/items/", method: "GET")
        ),
    ]

    static func random(
        isUpload: Bool, at storages: [Provider], _ random: inout SeededGenerator
    ) -> CloudTrouble {
        var fault = SandboxFault(host: "", times: 1)
        var mayFail = true
        let description: String
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            // Longer than a phone waits, so the server gives up immediately.
            (fault.status, fault.retryAfter) = (503, 3_600)
            description = "503 for an hour"
        case 1:
            (fault.status, fault.reason) = (403, isUpload ? "storageQuotaExceeded" : "downloadQuotaExceeded")
            description = "quota exceeded"
        case 2:
            (fault.status, fault.reason) = (403, "userRateLimitExceeded")
            description = "rate limit"
        case 3:
            fault.status = 500
            description = "500 once"
        case 4:
            (fault.status, fault.afterEffect) = (503, true)
            description = "503 although it worked"
        case 5:
            if isUpload { fault.resetAfterBytes = 100 } else { fault.truncateAfterBytes = 7 }
            description = "connection cut"
        case 6:
            fault.latencyMilliseconds = 60
            mayFail = false
            description = "slow"
        default:
            fault.status = 401
            mayFail = false
            description = "token refused once"
        }
        let faults = places.filter { storages.contains($0.key) }.values.map { place in
            let matching = isUpload ? place.upload : place.download
            var fault = fault
            (fault.host, fault.pathPrefix, fault.method) = (matching.host, matching.pathPrefix, matching.method)
            return fault
        }
        return CloudTrouble(faults: faults, description: description, mayFail: mayFail)
    }
}
