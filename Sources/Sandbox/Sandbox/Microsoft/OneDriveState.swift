/// Whether an account has a OneDrive; accounts of organizations may have none.
enum OneDriveState: String, Sendable, CaseIterable {
    case ready
    /// Not set up for the person yet.
    case unprovisioned
    /// The organization has no license for SharePoint Online, on which OneDrive for Business is built.
    case unlicensed

    /// The response to every request for the drive; `nil` if the drive exists.
    var error: GraphError? {
        switch self {
        case .ready: nil
        case .unprovisioned: GraphError(404, "ResourceNotFound", "User's mysite not found.")
        case .unlicensed: GraphError(400, "BadRequest", "Tenant does not have a SPO license.")
        }
    }
}
