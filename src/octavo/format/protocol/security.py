"""Schemas for logins (SASL), access control lists, and SCRAM users."""

from __future__ import annotations

from octavo.format.messages.notation import message

SASL_HANDSHAKE_REQUEST = message("SaslHandshakeRequest", "0-1", "none", """
    mechanism  string
""")  # fmt: skip

SASL_HANDSHAKE_RESPONSE = message("SaslHandshakeResponse", "0-1", "none", """
    errorCode   int16
    mechanisms  []string
""")  # fmt: skip

SASL_AUTHENTICATE_REQUEST = message("SaslAuthenticateRequest", "0-2", "2+", """
    authBytes  bytes
""")  # fmt: skip

SASL_AUTHENTICATE_RESPONSE = message("SaslAuthenticateResponse", "0-2", "2+", """
    errorCode          int16
    errorMessage       string      nullable
    authBytes          bytes
    sessionLifetimeMs  int64   1+  default=0 ignorable
""")  # fmt: skip

DESCRIBE_ACLS_REQUEST = message("DescribeAclsRequest", "1-3", "2+", """
    resourceTypeFilter  int8
    resourceNameFilter  string      nullable
    patternTypeFilter   int8    1+  default=3
    principalFilter     string      nullable
    hostFilter          string      nullable
    operation           int8
    permissionType      int8
""")  # fmt: skip

DESCRIBE_ACLS_RESPONSE = message("DescribeAclsResponse", "1-3", "2+", """
    throttleTimeMs  int32
    errorCode       int16
    errorMessage    string                 nullable
    resources       []DescribeAclsResource
        resourceType  int8
        resourceName  string
        patternType   int8              1+  default=3
        acls          []AclDescription
            principal       string
            host            string
            operation       int8
            permissionType  int8
""")  # fmt: skip

CREATE_ACLS_REQUEST = message("CreateAclsRequest", "1-3", "2+", """
    creations  []AclCreation
        resourceType         int8
        resourceName         string
        resourcePatternType  int8    1+  default=3
        principal            string
        host                 string
        operation            int8
        permissionType       int8
""")  # fmt: skip

CREATE_ACLS_RESPONSE = message("CreateAclsResponse", "1-3", "2+", """
    throttleTimeMs  int32
    results         []AclCreationResult
        errorCode     int16
        errorMessage  string  nullable
""")  # fmt: skip

DELETE_ACLS_REQUEST = message("DeleteAclsRequest", "1-3", "2+", """
    filters  []DeleteAclsFilter
        resourceTypeFilter  int8
        resourceNameFilter  string      nullable
        patternTypeFilter   int8    1+  default=3
        principalFilter     string      nullable
        hostFilter          string      nullable
        operation           int8
        permissionType      int8
""")  # fmt: skip

DELETE_ACLS_RESPONSE = message("DeleteAclsResponse", "1-3", "2+", """
    throttleTimeMs  int32
    filterResults   []DeleteAclsFilterResult
        errorCode     int16
        errorMessage  string                   nullable
        matchingAcls  []DeleteAclsMatchingAcl
            errorCode       int16
            errorMessage    string      nullable
            resourceType    int8
            resourceName    string
            patternType     int8    1+  default=3
            principal       string
            host            string
            operation       int8
            permissionType  int8
""")  # fmt: skip

DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST = message("DescribeUserScramCredentialsRequest", "0", "0+", """
    users  []UserName  nullable
        name  string
""")  # fmt: skip

DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE = message("DescribeUserScramCredentialsResponse", "0", "0+", """
    throttleTimeMs  int32
    errorCode       int16
    errorMessage    string                                nullable
    results         []DescribeUserScramCredentialsResult
        user             string
        errorCode        int16
        errorMessage     string            nullable
        credentialInfos  []CredentialInfo
            mechanism   int8
            iterations  int32
""")  # fmt: skip

ALTER_USER_SCRAM_CREDENTIALS_REQUEST = message("AlterUserScramCredentialsRequest", "0", "0+", """
    deletions   []ScramCredentialDeletion
        name       string
        mechanism  int8
    upsertions  []ScramCredentialUpsertion
        name            string
        mechanism       int8
        iterations      int32
        salt            bytes
        saltedPassword  bytes
""")  # fmt: skip

ALTER_USER_SCRAM_CREDENTIALS_RESPONSE = message("AlterUserScramCredentialsResponse", "0", "0+", """
    throttleTimeMs  int32
    results         []AlterUserScramCredentialsResult
        user          string
        errorCode     int16
        errorMessage  string  nullable
""")  # fmt: skip
