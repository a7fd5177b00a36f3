"""Schemas to list, describe and change configs and client quotas."""

from __future__ import annotations

from octavo.format.messages.notation import message

DESCRIBE_CONFIGS_REQUEST = message("DescribeConfigsRequest", "1-4", "4+", """
    resources             []DescribeConfigsResource
        resourceType       int8
        resourceName       string
        configurationKeys  []string       nullable
    includeSynonyms       bool                       1+
    includeDocumentation  bool                       3+
""")  # fmt: skip

DESCRIBE_CONFIGS_RESPONSE = message("DescribeConfigsResponse", "1-4", "4+", """
    throttleTimeMs  int32
    results         []DescribeConfigsResult
        errorCode     int16
        errorMessage  string                                nullable
        resourceType  int8
        resourceName  string
        configs       []DescribeConfigsResourceResult
            name           string
            value          string                         nullable
            readOnly       bool
            configSource   int8                      1+   default=-1 ignorable
            isSensitive    bool
            synonyms       []DescribeConfigsSynonym  1+   ignorable
                name    string  1+
                value   string  1+   nullable=0+
                source  int8    1+
            configType     int8                      3+   ignorable
            documentation  string                    3+   nullable=0+ ignorable
""")  # fmt: skip

ALTER_CONFIGS_REQUEST = message("AlterConfigsRequest", "0-2", "2+", """
    resources     []AlterConfigsResource
        resourceType  int8
        resourceName  string
        configs       []AlterableConfig
            name   string
            value  string       nullable
    validateOnly  bool
""")  # fmt: skip

_ALTERED = """
    throttleTimeMs  int32
    responses       []AlterConfigsResourceResponse
        errorCode     int16
        errorMessage  string       nullable
        resourceType  int8
        resourceName  string
"""

ALTER_CONFIGS_RESPONSE = message("AlterConfigsResponse", "0-2", "2+", _ALTERED)

INCREMENTAL_ALTER_CONFIGS_REQUEST = message("IncrementalAlterConfigsRequest", "0-1", "1+", """
    resources     []AlterConfigsResource
        resourceType  int8
        resourceName  string
        configs       []AlterableConfig
            name             string
            configOperation  int8
            value            string       nullable
    validateOnly  bool
""")  # fmt: skip

INCREMENTAL_ALTER_CONFIGS_RESPONSE = message("IncrementalAlterConfigsResponse", "0-1", "1+", _ALTERED)

LIST_CONFIG_RESOURCES_REQUEST = message("ListConfigResourcesRequest", "0-1", "0+", """
    resourceTypes  []int8  1+
""")  # fmt: skip

LIST_CONFIG_RESOURCES_RESPONSE = message("ListConfigResourcesResponse", "0-1", "0+", """
    throttleTimeMs   int32
    errorCode        int16
    configResources  []ConfigResource
        resourceName  string
        resourceType  int8    1+   default=16 ignorable
""")  # fmt: skip

DESCRIBE_CLIENT_QUOTAS_REQUEST = message("DescribeClientQuotasRequest", "0-1", "1+", """
    components  []ComponentData
        entityType  string
        matchType   int8
        match       string  nullable
    strict      bool
""")  # fmt: skip

DESCRIBE_CLIENT_QUOTAS_RESPONSE = message("DescribeClientQuotasResponse", "0-1", "1+", """
    throttleTimeMs  int32
    errorCode       int16
    errorMessage    string       nullable
    entries         []EntryData  nullable
        entity  []EntityData
            entityType  string
            entityName  string  nullable
        values  []ValueData
            key    string
            value  float64
""")  # fmt: skip

ALTER_CLIENT_QUOTAS_REQUEST = message("AlterClientQuotasRequest", "0-1", "1+", """
    entries       []EntryData
        entity  []EntityData
            entityType  string
            entityName  string  nullable
        ops     []OpData
            key     string
            value   float64
            remove  bool
    validateOnly  bool
""")  # fmt: skip

ALTER_CLIENT_QUOTAS_RESPONSE = message("AlterClientQuotasResponse", "0-1", "1+", """
    throttleTimeMs  int32
    entries         []EntryData
        errorCode     int16
        errorMessage  string        nullable
        entity        []EntityData
            entityType  string
            entityName  string  nullable
""")  # fmt: skip
